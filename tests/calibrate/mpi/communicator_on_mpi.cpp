// The communicator on MPI ranks: `mpirun -np N communicator_on_mpi`. Prints errors; exit code 1 if
// there are any.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "calibrate/mpi/mpi.hpp"

namespace {

using paradl::calibrate::Communicator;
using paradl::calibrate::Message;

class Judge {
 public:
  explicit Judge(Communicator& ranks) : ranks_(ranks) {}
  void check(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "rank %d of %d: %s\n", ranks_.rank(), ranks_.size(), what);
    wrong_ = true;
  }
  /// Whether any rank saw an error.
  bool wrong() {
    const auto all = ranks_.gather(wrong_);
    return std::accumulate(all.begin(), all.end(), 0.0) > 0;
  }

 private:
  Communicator& ranks_;
  bool wrong_ = false;
};

/// Whole numbers, so that sums are exact.
float number(int rank, std::size_t i) { return float(rank + 1) * float(i % 1000); }

void check_collectives(Communicator& ranks, Judge& judge) {
  const int p = ranks.size();
  for (std::size_t items : {1, 7, 1000, 1 << 18}) {
    std::vector<float> data(items);
    for (std::size_t i = 0; i < items; ++i) data[i] = number(ranks.rank(), i);
    ranks.allreduce(data.data(), items);
    bool right = true;
    for (std::size_t i = 0; i < items; ++i) right &= data[i] == float(p * (p + 1) / 2) * float(i % 1000);
    judge.check(right, "allreduce is not the sum");
  }
  std::vector<std::size_t> parts;
  for (int r = 0; r < p; ++r) parts.push_back(std::size_t(r) * 5 + 1);
  std::vector<float> data(std::accumulate(parts.begin(), parts.end(), std::size_t{0}), -1);
  const std::size_t mine = std::accumulate(parts.begin(), parts.begin() + ranks.rank(), std::size_t{0});
  for (std::size_t i = 0; i < parts[std::size_t(ranks.rank())]; ++i) data[mine + i] = float(mine + i);
  ranks.allgather(data.data(), parts);
  bool right = true;
  for (std::size_t i = 0; i < data.size(); ++i) right &= data[i] == float(i);
  judge.check(right, "allgather does not bring all parts");
  ranks.reduce_scatter(data.data(), parts);
  right = true;
  for (std::size_t i = 0; i < parts[std::size_t(ranks.rank())]; ++i)
    right &= data[mine + i] == float(p) * float(mine + i);
  judge.check(right, "reduce_scatter is not the sum");
}

void check_parts(Communicator& ranks, Judge& judge) {
  const auto part = ranks.split(ranks.rank() % 2, -ranks.rank());
  judge.check(part->size() == (ranks.size() + 1 - ranks.rank() % 2) / 2, "a part has the wrong size");
  judge.check(part->rank() == part->size() - 1 - ranks.rank() / 2, "a part is in the wrong order");
  Judge inner(*part);
  check_collectives(*part, inner);
  judge.check(!inner.wrong(), "a part is wrong");
  const auto all = ranks.gather(ranks.rank() + 1.0 / 3);
  for (int r = 0; r < ranks.size(); ++r)
    judge.check(all[std::size_t(r)] == r + 1.0 / 3, "gather loses digits");
}

void check_messages(Communicator& ranks, Judge& judge) {
  std::vector<float> out{1, 2, 3}, in(3), none;
  const int next = (ranks.rank() + 1) % ranks.size(),
            before = (ranks.rank() + ranks.size() - 1) % ranks.size();
  const std::vector<Message> sends{{next, &out[0], 1}, {next, none.data(), 0}, {next, &out[1], 2}};
  const std::vector<Message> receives{{before, &in[0], 1}, {before, none.data(), 0}, {before, &in[1], 2}};
  ranks.exchange(sends, receives);
  judge.check(in == out, "messages arrive in another order");
  ranks.exchange({}, {});
  ranks.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = paradl::calibrate::make_mpi_communicator(argc, argv);
  Judge judge(*ranks);
  check_messages(*ranks, judge);
  check_collectives(*ranks, judge);
  check_parts(*ranks, judge);
  const bool wrong = judge.wrong();
  if (ranks->rank() == 0)
    std::printf("%s: %d ranks on %d nodes, %s\n", paradl::calibrate::mpi_version().c_str(), ranks->size(),
                std::ranges::max(ranks->nodes()) + 1, wrong ? "wrong" : "right");
  return wrong;
}
