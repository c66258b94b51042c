#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/link_points.hpp"
#include "paradl/spec/document.hpp"

namespace paradl::calibrate {

/// What a log may not state.
struct LogOptions {
  std::optional<Collective> operation;  // if neither the log nor its file name states it
  int ranks = 0;                        // if the log does not state it
  std::optional<GroupLevel> level;      // if the log does not state it; default: within a node
};

/// Reads the output of a program of nccl-tests (all_reduce_perf, all_gather_perf, reduce_scatter_perf,
/// alltoall_perf, sendrecv_perf; also of rccl-tests), out-of-place times. Its `size` is the larger of what a
/// rank sends and receives, so it is the size of the whole buffer for every operation. Ranks and hosts are
/// counted in its list of devices. Lines of other programs are skipped.
std::vector<LinkPoint> read_nccl_tests(const SourceText& log, const LogOptions& options = {});

/// Reads the output of a program of the OSU micro-benchmarks: osu_latency, osu_bw, osu_allreduce,
/// osu_allgather, osu_reduce_scatter, osu_alltoall. They do not state the number of ranks: for collectives
/// the options must. Their sizes are those of the whole buffer for allreduce and reduce-scatter, of one
/// rank's part for allgather, and of one message for alltoall; the latter two are multiplied here. A
/// bandwidth becomes the time of one message in a series: its fit has the true beta, but an alpha without the
/// latency of the link.
std::vector<LinkPoint> read_osu(const SourceText& log, const LogOptions& options = {});

/// Either, detected from the content. SpecError if it is neither, or has no times.
std::vector<LinkPoint> read_log(const SourceText& log, const LogOptions& options = {});

}  // namespace paradl::calibrate
