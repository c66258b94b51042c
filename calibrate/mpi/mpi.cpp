#include "calibrate/mpi/mpi.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include <mpi.h>
#include <unistd.h>

namespace paradl::calibrate {
namespace {

/// The same number on all ranks with the same text.
double mark(const std::string& text) { return double(std::hash<std::string>{}(text) >> 11); }

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), std::size_t(length)};
}

/// The identity of the kernel. Several host names may share its cores, as network
/// namespaces do.
std::string kernel() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id{std::istreambuf_iterator<char>(file), {}};
  return id.empty() ? host_name() : id;
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm handle, bool shares_cores) : handle_(handle), shares_cores_(shares_cores) {
    MPI_Comm_rank(handle_, &rank_);
    MPI_Comm_size(handle_, &size_);
    nodes_ = numbered(gather_marks(mark(host_name())));
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  ~MpiCommunicator() override {
    if (handle_ != MPI_COMM_WORLD) MPI_Comm_free(&handle_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<int> nodes() const override { return nodes_; }
  std::vector<double> gather(double mine) override { return gather_marks(mine); }
  std::unique_ptr<Communicator> split(int colour, int key) const override {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(handle_, colour, key, &part);
    return std::make_unique<MpiCommunicator>(part, shares_cores_);
  }

  void exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    requests_.clear();
    for (const Message& m : receives)
      for_pieces(m, [&](float* data, int items) {
        MPI_Irecv(data, items, MPI_FLOAT, m.peer, 0, handle_, &requests_.emplace_back());
      });
    for (const Message& m : sends)
      for_pieces(m, [&](const float* data, int items) {
        MPI_Isend(data, items, MPI_FLOAT, m.peer, 0, handle_, &requests_.emplace_back());
      });
    wait(requests_);
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(handle_, &request);
    wait({&request, 1});
  }

  /// Whether this kernel runs more ranks than it has cores.
  bool shares_cores() const {
    long here = 0;
    const double mine = mark(kernel());
    for (double other : gather_marks(mine)) here += other == mine;
    return here > sysconf(_SC_NPROCESSORS_ONLN);
  }
  void set_shares_cores(bool value) { shares_cores_ = value; }

 private:
  /// MPI counts in int.
  template <class Send>
  static void for_pieces(const Message& message, Send send) {
    constexpr std::size_t most = std::size_t(1) << 30;
    std::size_t at = 0;
    do {
      const std::size_t items = std::min(most, message.items - at);
      send(message.data + at, int(items));
      at += items;
    } while (at < message.items);
  }

  /// A rank that spins would block the core for ranks that share it.
  void wait(std::span<MPI_Request> requests) const {
    int done = 0;
    while (true) {
      MPI_Testall(int(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done) return;
      if (shares_cores_) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  std::vector<double> gather_marks(double mine) const {
    std::vector<double> all(static_cast<std::size_t>(size_));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, handle_, &request);
    wait({&request, 1});
    return all;
  }

  MPI_Comm handle_;
  bool shares_cores_ = false;
  int rank_ = 0, size_ = 1;
  std::vector<int> nodes_;
  std::vector<MPI_Request> requests_;
};

class MpiWorld final : public MpiCommunicator {
 public:
  MpiWorld() : MpiCommunicator(MPI_COMM_WORLD, true) { set_shares_cores(shares_cores()); }
  /// After an error the other ranks and MPI may wait for this rank; then use end_all_ranks.
  ~MpiWorld() override {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(int& argc, char**& argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  return std::make_unique<MpiWorld>();
}

void end_all_ranks(int exit_code) {
  int over = 0;
  MPI_Finalized(&over);
  if (over) std::_Exit(exit_code);  // no rank waits any more
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();  // MPI_Abort does not return
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string version(text.data(), std::size_t(length));
  // Open MPI adds its build host after the first comma; MPICH adds several lines.
  version = version.substr(0, version.find_first_of(",\n"));
  if (version.starts_with("Open MPI v")) version.erase(9, 1);
  return version;
}

}  // namespace paradl::calibrate
