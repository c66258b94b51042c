#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/link_points.hpp"
#include "paradl/spec/document.hpp"

namespace paradl::calibrate {

/// What a log may leave open.
struct LogOptions {
  std::optional<LinkOperation> operation;  // if neither the log nor its file's name tells
  int ranks = 0;                           // if the log does not tell
  std::string level;                       // if the log does not tell; default: within a node
};

/// Reads the output of a program of nccl-tests (all_reduce_perf, all_gather_perf, reduce_scatter_perf,
/// alltoall_perf, sendrecv_perf; of rccl-tests too), out-of-place times. Its `size` is the larger of what a
/// rank sends and receives, hence already that of the whole buffer for every operation. Ranks and hosts are
/// counted in its list of devices. Lines of other programs in between are passed over.
std::vector<LinkPoint> read_nccl_tests(const SourceText& log, const LogOptions& options = {});

/// Reads the output of a program of the OSU micro-benchmarks: osu_latency, osu_bw, osu_allreduce,
/// osu_allgather, osu_reduce_scatter, osu_alltoall. They do not tell the number of ranks: collectives need it
/// in the options. Their sizes are of the whole buffer for allreduce and reduce-scatter, but of one rank's
/// part for allgather and of one message for alltoall, which are multiplied here. A bandwidth counts as the
/// time of one message in a row of many: its fit has the true beta, and an alpha without the way there.
std::vector<LinkPoint> read_osu(const SourceText& log, const LogOptions& options = {});

/// Either, told by content. SpecError if it is neither, or says nothing.
std::vector<LinkPoint> read_log(const SourceText& log, const LogOptions& options = {});

}  // namespace paradl::calibrate
