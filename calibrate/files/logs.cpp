#include "calibrate/files/logs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "paradl/core/text.hpp"

namespace paradl::calibrate {
namespace {

using Words = std::vector<std::string_view>;

/// The words between blanks.
Words words_of(std::string_view line) {
  Words out;
  const std::string_view blanks = " \t\r";
  for (std::size_t at = 0; (at = line.find_first_not_of(blanks, at)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

std::optional<double> number(std::string_view word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) return {};
  return value;
}
/// Sizes are whole numbers; times have a point or not.
bool is_size(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Name {
  std::string_view word;
  Collective operation;
};
constexpr std::array nccl_names{
    Name{"all_reduce_perf", Collective::allreduce}, Name{"all_gather_perf", Collective::allgather},
    Name{"reduce_scatter_perf", Collective::reduce_scatter}, Name{"alltoall_perf", Collective::all_to_all},
    Name{"sendrecv_perf", Collective::point_to_point}};
// As in their titles: "# OSU MPI Allreduce Latency Test v7.0", "# OSU MPI-CUDA Latency Test".
constexpr std::array osu_names{
    Name{"Allreduce", Collective::allreduce}, Name{"Allgather", Collective::allgather},
    Name{"Reduce_scatter", Collective::reduce_scatter}, Name{"All-to-All", Collective::all_to_all},
    Name{"Alltoall", Collective::all_to_all}};

/// The first of these words that a text has.
template <std::size_t N>
std::optional<Collective> named(std::string_view text, const std::array<Name, N>& names) {
  std::size_t first = text.npos;
  std::optional<Collective> found;
  for (const Name& name : names)
    if (const std::size_t at = text.find(name.word); at < first) {
      first = at;
      found = name.operation;
    }
  return found;
}

[[noreturn]] void fail(const SourceText& log, int line, const std::string& message, const std::string& help) {
  throw SpecError(log.file, log.text, {{.where = {line, 1, 1}, .message = message, .help = help}});
}

void check_point(const SourceText& log, int line, std::optional<double> value, std::string_view word,
                 std::string_view what) {
  if (!value || !(*value > 0))
    fail(log, line, fmt::format("`{}` is not a {}", word, what), "is the log complete?");
}

struct Row {
  int line = 0;
  double bytes = 0, seconds = 0;
};

/// Checks that the numbers are plausible for a link.
Row checked(const SourceText& log, const Row& row) {
  constexpr double least_time = 1e-10, most_time = 1e6, most_bytes = 1e15;
  if (!(row.seconds >= least_time && row.seconds <= most_time))
    fail(log, row.line,
         fmt::format("{:g} s for {:g} bytes is not plausible for a link", row.seconds, row.bytes),
         "is the log complete?");
  if (!(row.bytes > 0 && row.bytes <= most_bytes))
    fail(log, row.line, fmt::format("a buffer of {:g} bytes is not plausible", row.bytes),
         "is the log complete?");
  return row;
}

/// A sweep has tens of sizes. More rows are not a sweep, and the time of a fit is quadratic.
void check_rows(const SourceText& log, const std::vector<Row>& rows) {
  constexpr std::size_t most = 1000;
  if (rows.empty()) fail(log, 1, "the table has no rows", "did the program end early?");
  if (rows.size() > most)
    fail(log, rows[most].line, fmt::format("more than {} rows", most),
         "use fewer sizes, or a part of the log");
}

/// Refuses a run that reports its own failure.
void check_success(const SourceText& log) {
  int line = 0;
  for (std::string_view text : split(log.text, '\n')) {
    ++line;
    for (const std::string_view word : {"FAILED", "NCCL failure", "CUDA failure", "Segmentation fault"})
      if (text.find(word) != text.npos)
        fail(log, line, fmt::format("the run failed: `{}`", word),
             "measure again: the times of a failed run are wrong");
  }
}

// nccl-tests

struct Devices {
  std::set<std::string, std::less<>> ranks, hosts;
};

/// "#  Rank  3 Group  0 Pid  5133 on  node1 device  3 [0x07] NVIDIA A100"
void read_device(const Words& words, Devices& devices) {
  if (words.size() < 4 || words[0] != "#" || words[1] != "Rank") return;
  devices.ranks.emplace(words[2]);
  const auto on = std::find(words.begin(), words.end(), "on");
  if (on != words.end() && on + 1 != words.end()) devices.hosts.emplace(*(on + 1));
}

/// The number of columns from the first time on; zero if the line is not the head of a table. Columns before
/// may be empty, so times are counted from the end.
std::size_t columns_from_time(const Words& words) {
  const auto size = std::find(words.begin(), words.end(), "size");
  const auto time = std::find(words.begin(), words.end(), "time");
  if (words.empty() || words[0] != "#" || size == words.end() || time == words.end()) return 0;
  return std::size_t(words.end() - time);
}

Row read_nccl_row(const SourceText& log, int line, const Words& words, std::size_t columns) {
  if (words.size() < columns + 2)
    fail(log, line, fmt::format("a row with {} columns, but the head of the table has more", words.size()),
         "is the log complete?");
  const std::string_view word = words[words.size() - columns];
  const auto time = number(word);
  check_point(log, line, time, word, "time");
  return checked(log, {line, number(words[0]).value_or(0), *time * 1e-6});
}

/// "# OSU MPI Latency Test", "# OSU MPI-CUDA Bandwidth Test"; a collective has its name in between.
bool is_pair(const Words& title) {
  const auto what = std::find_if(title.begin(), title.end(),
                                 [](std::string_view w) { return w == "Latency" || w == "Bandwidth"; });
  return what != title.begin() && what != title.end() && (what - 1)->starts_with("MPI");
}

int ranks_of(const SourceText& log, const LogOptions& options, std::size_t counted) {
  const int ranks = options.ranks ? options.ranks : int(counted);
  if (ranks < 2)
    fail(log, 1,
         ranks ? "a log of one rank has no times of links" : "the log does not state the number of ranks",
         "add --ranks N");
  return ranks;
}

}  // namespace

std::vector<LinkPoint> read_nccl_tests(const SourceText& log, const LogOptions& options) {
  Devices devices;
  std::vector<Row> rows;
  std::size_t columns = 0;
  int line = 0;
  for (std::string_view text : split(log.text, '\n')) {
    ++line;
    const Words words = words_of(text);
    if (words.empty()) continue;
    read_device(words, devices);
    if (const std::size_t found = columns_from_time(words)) columns = found;
    // A row begins with two whole numbers, size and count; other programs may print other lines.
    if (columns == 0 || words.size() < 3 || !is_size(words[0]) || !is_size(words[1])) continue;
    if (number(words[0]) == 0.0) continue;  // smaller than one item per rank
    rows.push_back(read_nccl_row(log, line, words, columns));
  }
  if (columns == 0)
    fail(log, 1, "the log has no table of nccl-tests",
         "the head of a table is a line `# size count type redop root time ...`");
  check_rows(log, rows);
  if (const auto names = std::ranges::count_if(
          nccl_names, [&](const Name& name) { return log.text.find(name.word) != log.text.npos; });
      names > 1)
    fail(log, 1, "the log has several operations", "write each to its own file");

  auto operation = options.operation;
  if (!operation) operation = named(log.text, nccl_names);
  if (!operation) operation = named(log.file, nccl_names);
  if (!operation)
    fail(log, 1, "the log does not state its operation",
         "name one with --operations, or use a file name that contains `all_reduce_perf` or similar");
  const int ranks = ranks_of(log, options, devices.ranks.size());
  const GroupLevel listed = devices.hosts.size() < 2                     ? GroupLevel::node
                            : devices.hosts.size() == std::size_t(ranks) ? GroupLevel::cluster
                                                                         : GroupLevel::all;
  std::vector<LinkPoint> points;
  for (const Row& row : rows)
    points.push_back({.operation = *operation,
                      .level = options.level.value_or(listed),
                      .ranks = *operation == Collective::point_to_point ? 2 : ranks,
                      .bytes = Bytes{row.bytes},
                      .seconds = Seconds{row.seconds}});
  return points;
}

std::vector<LinkPoint> read_osu(const SourceText& log, const LogOptions& options) {
  std::optional<Collective> operation;
  bool bandwidth = false, titled = false;
  std::vector<Row> rows;
  int line = 0;
  for (std::string_view text : split(log.text, '\n')) {
    ++line;
    if (text.starts_with("# OSU")) {
      if (titled) fail(log, line, "the log has several tests", "write each to its own file");
      titled = true;
      operation = named(text, osu_names);
      bandwidth = text.find("Bandwidth") != text.npos;
      if (text.find("Bi-Directional") != text.npos)
        fail(log, line, "a bidirectional bandwidth is not the bandwidth of one link", "use osu_bw");
      const bool pair = is_pair(words_of(text));
      if (!operation && pair) operation = Collective::point_to_point;
      continue;
    }
    const Words words = words_of(text);
    if (!titled || words.size() < 2 || !is_size(words[0])) continue;
    const auto value = number(words[1]);
    if (number(words[0]) == 0.0) continue;  // a message without bytes does not belong to a range
    check_point(log, line, value, words[1], bandwidth ? "bandwidth" : "time");
    const double bytes = number(words[0]).value_or(0);
    rows.push_back(checked(log, {line, bytes, bandwidth ? bytes / (*value * 1e6) : *value * 1e-6}));
  }
  if (options.operation) operation = options.operation;
  if (!titled)
    fail(log, 1, "the log is not from the OSU micro-benchmarks", "their output begins with `# OSU MPI ...`");
  if (!operation) fail(log, 1, "this operation is not supported", "use osu_latency, osu_allreduce, ...");
  check_rows(log, rows);

  const bool pair = *operation == Collective::point_to_point;
  const int ranks = pair ? 2 : ranks_of(log, options, 0);
  const bool parts = *operation == Collective::allgather || *operation == Collective::all_to_all;
  std::vector<LinkPoint> points;
  for (const Row& row : rows)
    points.push_back({.operation = *operation,
                      .level = options.level.value_or(GroupLevel::node),
                      .ranks = ranks,
                      .bytes = Bytes{row.bytes * (parts ? ranks : 1)},
                      .seconds = Seconds{row.seconds}});
  return points;
}

std::vector<LinkPoint> read_log(const SourceText& log, const LogOptions& options) {
  check_success(log);
  const bool osu = log.text.find("# OSU") != log.text.npos;
  if (osu && log.text.find("nccl-tests") != log.text.npos)
    fail(log, 1, "the log has tables of two programs", "write each to its own file");
  return osu ? read_osu(log, options) : read_nccl_tests(log, options);
}

}  // namespace paradl::calibrate
