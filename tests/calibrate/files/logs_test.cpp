#include "calibrate/files/logs.hpp"

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::calibrate {
namespace {
using namespace test;

const std::string nccl =
    "+ mpirun -np 4 ./build/all_gather_perf -b 8 -e 64M -f 8 -g 1\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 67108864 step: 8(factor) warmup iters: 5 iters: 20 agg iters: "
    "1\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   1001 on      node1 device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  1 Group  0 Pid   1002 on      node1 device  1 [0x0f] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  2 Group  0 Pid   1003 on      node1 device  2 [0x47] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  3 Group  0 Pid   1004 on      node1 device  3 [0x4e] NVIDIA A100-SXM4-80GB\n"
    "node1:1001:1001 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
    "#\n"
    "#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n"
    "           0             0     float    none      -1    9.01    0.00    0.00      0     9.00    0.00    "
    "0.00      0\n"
    "          64             4     float    none      -1    10.5    0.01    0.00      0     10.2    0.01    "
    "0.00      0\n"
    "1 warning from somebody\n"
    "     1048576         65536     float    none      -1    31.25   33.55   25.17      0    30.11   34.82   "
    "26.12    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 12.6\n";

std::string with(std::string text, const std::string& old_text, const std::string& new_text) {
  const std::size_t at = text.find(old_text);
  REQUIRE(at != text.npos);
  return text.replace(at, old_text.size(), new_text);
}

TEST_CASE("logs: nccl-tests, sizes of the whole buffer, times of the out-of-place columns") {
  const auto points = read_log(source_of(nccl));
  REQUIRE(points.size() == 2);
  CHECK(points[0].operation == Collective::allgather);
  CHECK(points[0].level == GroupLevel::node);
  CHECK(points[0].ranks == 4);
  CHECK(points[0].bytes == Bytes{64});
  CHECK(points[0].seconds.base() == approx(10.5e-6));
  CHECK(points[1].bytes == Bytes{1048576});
  CHECK(points[1].seconds.base() == approx(31.25e-6));
  // The program's own bus bandwidth is (p-1)/p m / t: 3/4 of 33.55 GB/s
  const Observation ring = observation(points[1]);
  CHECK(ring.bytes / ring.seconds == approx(25.17e9).epsilon(1e-3));
}

TEST_CASE("logs: the level follows from the hosts, and blank columns are skipped") {
  const std::string two = with(with(nccl, "1003 on      node1", "1003 on      node2"), "1004 on      node1",
                               "1004 on      node2");
  CHECK(read_log(source_of(two))[0].level == GroupLevel::all);
  CHECK(read_log(source_of(two), {.level = GroupLevel::cluster})[0].level == GroupLevel::cluster);
  // Old versions leave `redop` and `root` of an allgather blank.
  const std::string blank =
      with(nccl, "65536     float    none      -1    31.25", "65536     float                   31.25");
  CHECK(read_log(source_of(blank))[1].seconds.base() == approx(31.25e-6));
  const std::string title = with(nccl, "all_gather_perf -b", "-b");
  CHECK(read_log({"logs/all_reduce_perf.16.log", title})[0].operation == Collective::allreduce);
  CHECK(read_log(source_of(title), {.operation = Collective::all_to_all})[0].operation ==
        Collective::all_to_all);
  const auto pair = read_log(source_of(with(nccl, "all_gather_perf", "sendrecv_perf")));
  CHECK(pair[0].operation == Collective::point_to_point);
  CHECK(pair[0].ranks == 2);
}

TEST_CASE("logs: mistakes in a log of nccl-tests are reported with their line") {
  const auto complaint_about = [](const std::string& text) {
    return complaint([&] { read_log(source_of(text)); });
  };
  CHECK(says(complaint_about(with(nccl, "    31.25", "      N/A")),
             "error: `N/A` is not a time\n  --> test.yaml:17:1\n"));
  CHECK(says(complaint_about(
                 with(nccl, "    31.25   33.55   25.17      0    30.11   34.82   26.12    N/A", "   31.2")),
             "error: a row with 6 columns, but the head of the table has more\n  --> test.yaml:17:1\n"));
  CHECK(says(complaint_about(with(nccl, "all_gather_perf -b", "-b")),
             "error: the log does not state its operation\n"));
  CHECK(says(complaint_about(nccl.substr(0, nccl.find("           0 "))), "error: the table has no rows\n"));
  CHECK(says(complaint_about("hello\n"), "error: the log has no table of nccl-tests\n"));
  CHECK(says(complaint_about(""), "error: the log has no table of nccl-tests\n"));
  std::string alone = nccl;
  for (const char* rank : {"Rank  1", "Rank  2", "Rank  3"}) alone = with(alone, rank, "Rank  0");
  CHECK(says(complaint_about(alone), "error: a log of one rank has no times of links\n"));
}

TEST_CASE("logs: OSU counts sizes in its own way") {
  const std::string table =
      "Warning: Permanently added 'n2' to the list of known hosts.\n"
      "# OSU MPI Allreduce Latency Test v7.3\n"
      "# Datatype: MPI_CHAR.\n"
      "# Size       Avg Latency(us)\n"
      "4                       1.23\n"
      "1048576               812.50\n";
  const auto allreduce = read_log(source_of(table), {.ranks = 8, .level = GroupLevel::cluster});
  REQUIRE(allreduce.size() == 2);
  CHECK(allreduce[1].operation == Collective::allreduce);
  CHECK(allreduce[1].ranks == 8);
  CHECK(allreduce[1].level == GroupLevel::cluster);
  CHECK(allreduce[1].bytes == Bytes{1048576});
  CHECK(allreduce[1].seconds.base() == approx(812.5e-6));
  // The size of one rank's part, and of one message
  CHECK(read_log(source_of(with(table, "Allreduce", "Allgather")), {.ranks = 8})[0].bytes == Bytes{32});
  CHECK(read_log(source_of(with(table, "Allreduce", "All-to-All Personalized Exchange")), {.ranks = 8})[0]
            .bytes == Bytes{32});
  const auto scatter = read_log(source_of(with(table, "Allreduce", "Reduce_scatter")), {.ranks = 8});
  CHECK(scatter[0].operation == Collective::reduce_scatter);
  CHECK(scatter[0].bytes == Bytes{4});
  const auto latency = read_log(source_of(with(table, "Allreduce Latency", "Latency")));
  CHECK(latency[0].operation == Collective::point_to_point);
  CHECK(latency[0].ranks == 2);
  // 812.5 MB/s: 1 MiB in 1.29 ms
  const auto rate = read_log(source_of(with(table, "Allreduce Latency", "Bandwidth")));
  CHECK(rate[1].operation == Collective::point_to_point);
  CHECK(rate[1].seconds.base() == approx(1048576 / 812.5e6));
}

TEST_CASE("logs: mistakes in a log of OSU are reported with their line") {
  const std::string table =
      "# OSU MPI Allgather Latency Test v5.6.3\n"
      "# Size       Avg Latency(us)\n"
      "4                       1.23\n";
  const auto complaint_about = [](const std::string& text, int ranks) {
    return complaint([&] { read_log(source_of(text), {.ranks = ranks}); });
  };
  CHECK(says(complaint_about(table, 0), "error: the log does not state the number of ranks\n"));
  CHECK(says(complaint_about(with(table, "1.23", "fast"), 4),
             "error: `fast` is not a time\n --> test.yaml:3:1\n"));
  CHECK(says(complaint_about(with(table, "4  ", "#  "), 4), "error: the table has no rows\n"));
  CHECK(says(complaint_about(with(table, "Allgather Latency", "Broadcast Latency"), 4),
             "error: this operation is not supported"));
  CHECK(says(complaint_about(with(table, "Allgather Latency", "Bi-Directional Bandwidth"), 4),
             "error: a bidirectional bandwidth is not the bandwidth of one link\n"));
  CHECK(says(complaint_about(with(table, "1.23", "1e-320"), 4),
             "is not plausible for a link\n --> test.yaml:3:1\n"));
  CHECK(says(complaint_about(table + table, 4), "error: the log has several tests\n --> test.yaml:4:1\n"));
  CHECK(says(complaint_about(table + "Segmentation fault\n", 4),
             "error: the run failed: `Segmentation fault`"));
  std::string long_table = table;
  for (int i = 0; i < 1000; ++i) long_table += "8 1.5\n";
  CHECK(says(complaint_about(long_table, 4), "error: more than 1000 rows\n"));
}

TEST_CASE("logs: several operations in one log of nccl-tests are an error, and so are failed runs") {
  const auto complaint_about = [](const std::string& text) {
    return complaint([&] { read_log(source_of(text), {}); });
  };
  CHECK(complaint_about(nccl).empty());
  CHECK(says(complaint_about(nccl + "# Collective test starting: all_reduce_perf\n"),
             "error: the log has several operations\n"));
  CHECK(says(complaint_about(nccl + "# Out of bounds values : 7777 FAILED\n"),
             "error: the run failed: `FAILED`"));
}

}  // namespace
}  // namespace paradl::calibrate
