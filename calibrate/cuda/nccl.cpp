#include "calibrate/cuda/nccl.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "calibrate/cuda/device.hpp"

namespace paradl::calibrate {
namespace cuda {
namespace {

/// Distributes the id of rank 0 by messages in host memory, one float per byte, so that no transport changes
/// it.
ncclUniqueId common_id(Communicator& host) {
  ncclUniqueId id{};
  std::array<float, sizeof id.internal> bytes{};
  if (host.rank() == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = float(static_cast<unsigned char>(id.internal[i]));
    std::vector<Message> sends;
    for (int peer = 1; peer < host.size(); ++peer) sends.push_back({peer, bytes.data(), bytes.size()});
    host.exchange(sends, {});
    return id;
  }
  const Message receive{0, bytes.data(), bytes.size()};
  host.exchange({}, {&receive, 1});
  for (std::size_t i = 0; i < bytes.size(); ++i) id.internal[i] = char(static_cast<unsigned char>(bytes[i]));
  return id;
}

/// Groups the NCCL calls between begin and end.
template <class Calls>
void in_one_group(Calls calls) {
  check(ncclGroupStart(), "ncclGroupStart");
  calls();
  check(ncclGroupEnd(), "ncclGroupEnd");
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(Context& context, std::unique_ptr<Communicator> host)
      : context_(context), host_(std::move(host)) {
    context_.enter();
    check(ncclCommInitRank(&communicator_, host_->size(), common_id(*host_), host_->rank()),
          "ncclCommInitRank");
  }
  ~NcclCommunicator() override {
    cudaSetDevice(context_.ordinal());
    if (communicator_) ncclCommDestroy(communicator_);
  }

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  std::unique_ptr<Communicator> split(int colour, int key) const override {
    return std::make_unique<NcclCommunicator>(context_, host_->split(colour, key));
  }

  Seconds now() const override { return host_->now(); }
  std::vector<int> nodes() const override { return host_->nodes(); }
  std::vector<double> gather(double mine) override { return host_->gather(mine); }

  void exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    context_.enter();
    // Look up all storage first, because that may enqueue conversions.
    std::vector<void*> sent, received;
    for (const Message& m : sends) sent.push_back(m.items > 0 ? context_.out(m.data) : nullptr);
    for (const Message& m : receives) received.push_back(m.items > 0 ? context_.out(m.data) : nullptr);
    in_one_group([&] {
      for (std::size_t i = 0; i < sends.size(); ++i)
        if (sends[i].items > 0)
          check(ncclSend(sent[i], sends[i].items, stored_type(), sends[i].peer, communicator_,
                         context_.stream()),
                "ncclSend");
      for (std::size_t i = 0; i < receives.size(); ++i)
        if (receives[i].items > 0)
          check(ncclRecv(received[i], receives[i].items, stored_type(), receives[i].peer, communicator_,
                         context_.stream()),
                "ncclRecv");
    });
    for (const Message& m : receives)
      if (m.items > 0) context_.memory().changed(m.data);
    wait();
  }

  void barrier() override {
    context_.enter();
    wait();
    host_->barrier();
  }

  void allreduce(float* data, std::size_t items) override {
    if (items == 0) return;
    context_.enter();
    const Numbers numbers = find(data);
    check(ncclAllReduce(numbers.data, numbers.data, items, numbers.type, ncclSum, communicator_,
                        context_.stream()),
          "ncclAllReduce");
    wait();
  }

  void allgather(float* data, std::span<const std::size_t> items) override {
    const auto own = std::size_t(rank());
    collective(
        data, items,
        [&](const Numbers& numbers) {
          check(ncclAllGather(numbers.at(items[0] * own), numbers.data, items[0], numbers.type, communicator_,
                              context_.stream()),
                "ncclAllGather");
        },
        [&](void* part, std::size_t count, ncclDataType_t type, int root) {
          check(ncclBroadcast(part, part, count, type, root, communicator_, context_.stream()),
                "ncclBroadcast");
        });
  }

  void reduce_scatter(float* data, std::span<const std::size_t> items) override {
    const auto own = std::size_t(rank());
    collective(
        data, items,
        [&](const Numbers& numbers) {
          check(ncclReduceScatter(numbers.data, numbers.at(items[0] * own), items[0], numbers.type, ncclSum,
                                  communicator_, context_.stream()),
                "ncclReduceScatter");
        },
        [&](void* part, std::size_t count, ncclDataType_t type, int root) {
          check(ncclReduce(part, part, count, type, ncclSum, root, communicator_, context_.stream()),
                "ncclReduce");
        });
  }

 private:
  /// A buffer with its NCCL type.
  struct Numbers {
    void* data;
    ncclDataType_t type;
    std::size_t item;
    void* at(std::size_t items) const { return static_cast<char*>(data) + items * item; }
  };
  ncclDataType_t stored_type() const {
    constexpr std::array types{ncclFloat, ncclHalf, ncclBfloat16};
    static_assert(types.size() == std::size_t(Storage::bf16) + 1, "one for each Storage");
    return types[std::size_t(context_.storage())];
  }
  /// Sums have the width of their buffer, which is the same on all ranks (32 bits for statistics).
  Numbers find(float* data) {
    context_.memory().changed(data);
    if (context_.memory().is_wide(data)) return {context_.memory().as_is(data), ncclFloat, sizeof(float)};
    return {context_.out(data), stored_type(), context_.item_bytes()};
  }

  /// One call if parts are equal; otherwise a group of calls, one for each rank as root.
  template <class Even, class OfRoot>
  void collective(float* data, std::span<const std::size_t> items, Even even, OfRoot of_root) {
    const std::size_t all = std::accumulate(items.begin(), items.end(), std::size_t{0});
    if (all == 0) return;
    context_.enter();
    const Numbers numbers = find(data);
    if (std::ranges::all_of(items, [&](std::size_t n) { return n == items[0]; }))
      even(numbers);
    else
      in_one_group([&] {
        std::size_t before = 0;
        for (int root = 0; root < size(); ++root) {
          const std::size_t count = items[std::size_t(root)];
          if (count > 0) of_root(numbers.at(before), count, numbers.type, root);
          before += count;
        }
      });
    wait();
  }

  /// Waits for the GPU, and checks for errors meanwhile: if a rank has died, waiting alone would never end.
  void wait() {
    while (true) {
      const cudaError_t state = cudaStreamQuery(context_.stream());
      if (state == cudaSuccess) break;
      if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
      ncclResult_t failure = ncclSuccess;
      check(ncclCommGetAsyncError(communicator_, &failure), "ncclCommGetAsyncError");
      if (failure != ncclSuccess && failure != ncclInProgress) {
        ncclCommAbort(communicator_);
        communicator_ = nullptr;
        check(failure, "NCCL");
      }
      std::this_thread::yield();
    }
    cudaGetLastError();  // a stream that is not ready is not an error
  }

  Context& context_;
  std::unique_ptr<Communicator> host_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Communicator> make_nccl_communicator(Device& device, const Communicator& host) {
  auto* const own = dynamic_cast<cuda::CudaDevice*>(&device);
  if (!own) throw std::logic_error("NCCL needs a device of the back end `cuda`");
  return std::make_unique<cuda::NcclCommunicator>(own->context(), host.split(0, host.rank()));
}

}  // namespace paradl::calibrate
