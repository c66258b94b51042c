#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paradl/cli/command.hpp"
#include "paradl/cli/ranges.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/projection_table.hpp"
#include "paradl/spec/kernel_errors.hpp"

namespace paradl {
namespace {

std::string format_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".json") return "json";
  if (extension == ".jsonl") return "jsonl";
  if (extension == ".csv") return "csv";
  if (extension == ".md") return "markdown";
  if (extension == ".tex") return "latex";
  if (extension == ".txt") return "text";
  if (extension == ".svg") return "svg";
  throw UsageError(fmt::format("-o {}: no format goes with `{}`", path, extension),
                   "use .json, .jsonl, .csv, .md, .tex or .txt; `validate` draws .svg, too");
}

/// The file that a link leads to, also where it is yet to be made: the link stays.
std::string behind_links(std::filesystem::path path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  constexpr int most = 40;  // as the kernel follows
  for (int links = 0; links < most && fs::is_symlink(fs::symlink_status(path, failed)); ++links)
    path = path.parent_path() / fs::read_symlink(path, failed);  // one that begins with `/` replaces all
  return path.string();
}

/// A file that is written beside the old one first: a full disk must not cost the user what was there.
class NewFile {
 public:
  NewFile(const std::string& path, const std::string& text) : path_(path) {
    namespace fs = std::filesystem;
    std::error_code failed;
    path_ = behind_links(path);
    if (fs::is_fifo(path_, failed)) demand_reader();
    if (fs::exists(path_, failed) &&
        !fs::is_regular_file(path_, failed)) {  // devices are written as they are
      fill(::open(path_.c_str(), O_WRONLY | O_CLOEXEC), text);
      return;
    }
    std::string beside = path_ + ".XXXXXX";
    const int file = ::mkostemp(beside.data(), O_CLOEXEC);
    if (file >= 0) beside_ = beside, ::fchmod(file, 0644);
    fill(file, text);
  }
  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)), beside_(std::exchange(other.beside_, {})) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile() { forget(); }

  /// Puts it in its place.
  void keep() {
    if (beside_.empty()) return;
    if (std::rename(beside_.c_str(), path_.c_str()) != 0) refuse(errno);
    beside_.clear();
  }

 private:
  /// Writes all of it and closes the file; a negative one could not be opened. A disk may be full after some
  /// of it: only what is written next says so.
  void fill(int file, std::string_view text) {
    if (file < 0) refuse(errno);
    int failed = 0;
    while (!text.empty() && failed == 0) {
      const ssize_t written = ::write(file, text.data(), text.size());
      if (written >= 0)
        text.remove_prefix(std::size_t(written));
      else if (errno != EINTR)
        failed = errno;
    }
    if (::close(file) != 0 && failed == 0) failed = errno;
    if (failed != 0) refuse(failed);
  }
  /// Opening a pipe that nobody reads would wait for ever.
  void demand_reader() const {
    const int pipe = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe >= 0) {
      ::close(pipe);
    } else if (errno == ENXIO) {
      throw UsageError(fmt::format("`{}` is a pipe that nobody reads", path_),
                       "name a file, or start its reader");
    }
  }
  void forget() {
    if (!beside_.empty()) ::unlink(beside_.c_str());
    beside_.clear();
  }
  [[noreturn]] void refuse(int reason) {
    forget();
    const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
    throw EnvironmentError(
        fmt::format("cannot write `{}`: {}", path_, std::strerror(reason)),
        full ? "make room, or name a file elsewhere" : "check the folder and its permissions");
  }

  std::string path_, beside_;
};

}  // namespace

Style Session::style() const {
  const Terminal out = terminal(STDOUT_FILENO, colour);
  return {.width = out.columns, .colour = out.colour, .unicode = out.unicode};
}

void print(const std::string& text) {
  errno = 0;
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  const int reason = errno;
  if (written) return;
  throw EnvironmentError(fmt::format("cannot write the answer: {}", std::strerror(reason)),
                         "is the disk full, or the reader gone?");
}

void hint(const Session& session, const std::string& text) {
  if (session.verbosity >= 0 && !text.empty()) std::fprintf(stderr, "%s\n", text.c_str());
}

void write_file(const std::string& path, const std::string& text) { NewFile(path, text).keep(); }

void refuse_twice(const std::vector<std::string>& files) {
  std::vector<std::filesystem::path> seen;
  for (const std::string& path : files) {
    std::error_code failed;
    std::filesystem::path real = std::filesystem::weakly_canonical(behind_links(path), failed);
    if (failed) real = path;
    if (std::ranges::find(seen, real) != seen.end())
      throw UsageError(fmt::format("`{}` would be written twice", path),
                       "name each file once; the extension chooses the format");
    seen.push_back(std::move(real));
  }
}

void demand_svg(const std::string& path) {
  if (path.empty() || path.ends_with(".svg")) return;
  throw UsageError(
      fmt::format("--draw {}: drawings are SVG", path),
      fmt::format("write --draw {}", std::filesystem::path(path).replace_extension(".svg").string()));
}

std::vector<InputFile> inputs_of(const Case& about) {
  std::vector<InputFile> out;
  for (const SourceText& source : about.model_spec.sources)
    out.push_back({"model", about.model_spec.name, source});
  out.push_back({"system", about.machine.name, about.system_spec.source});
  if (const auto& kernels = about.system_spec.device.kernels; kernels && about.times.kernels)
    out.push_back({"kernels", kernels->name, kernels->source});
  if (about.profile_spec) out.push_back({"profile", about.profile_spec->name, about.profile_spec->source});
  return out;
}

Answer start_answer(const Session& session, const Case& about) {
  Answer answer;
  answer.command = session.arguments;
  answer.inputs = inputs_of(about);
  answer.model = about.work.name;
  answer.system = about.machine.name;
  answer.framework = about.framework_spec.name;
  answer.epochs = about.epochs;
  answer.costs = about.costs;
  answer.level = about.level();
  answer.recorded = recorded_errors(session.catalog);
  answer.fidelity = answer.level.fidelity;
  const double layer_error = about.layer_error().value_or(data_sheet_errors.most);
  answer.nearest = nearest_recorded(answer.recorded, answer.level, layer_error);
  ParameterLevel beyond = answer.level;
  beyond.changed = out_of_core_suffix;
  answer.beyond = nearest_recorded(answer.recorded, beyond, layer_error);
  return answer;
}

void examine(Answer& answer, Examiner& examiner) {
  answer.bottlenecks.clear();
  for (const Projection& p : answer.results) answer.bottlenecks.push_back(examiner.bottlenecks(p));
}

std::vector<RecordedError> recorded_errors(const Catalog& catalog) {
  const auto records = catalog.names("accuracy");
  if (std::ranges::find(records, "recorded") == records.end()) return {};
  return read_record(catalog.find("accuracy", "recorded")).errors;
}

RecordedErrors read_record(const SourceText& source) {
  RecordedErrors out = read_recorded_errors(source);
  Problems problems(source);
  for (const RecordedError& error : out.errors) {
    if (error.strategy == any_strategy) continue;
    try {
      read_strategy(error.strategy);
    } catch (const UsageError& unknown) {
      problems.add(error.spot, unknown.what(), unknown.help());
    }
  }
  problems.raise();
  return out;
}

std::string render_table(const std::string& format, const Table& table) {
  if (format == "markdown") return to_markdown(table);
  if (format == "csv") return to_csv(table);
  if (format == "latex") return to_latex(table);
  throw UsageError(fmt::format("-f {}: not a format", format),
                   "use text, markdown, csv, json, jsonl or latex");
}

void check_delivery(const Options& options) {
  options.read("format", "text", [](const std::string& format) {
    for (const std::string_view known : {"text", "json", "jsonl"})
      if (format == known) return format;
    return render_table(format, {});
  });
  for (const std::string& path : options.outputs()) {
    format_of(path);
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
      throw EnvironmentError(fmt::format("cannot write `{}`: {}", path, std::strerror(errno)),
                             "check the folder and its permissions");
  }
}

void deliver(const Session& session, const Options& options, const Render& render) {
  const std::string main = options.read(
      "format", "text", [&](const std::string& format) { return render(format, session.style()); });
  // Nothing is written before all is rendered, and nothing is replaced before all is written.
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& path : options.outputs())
    texts.emplace_back(path, render(format_of(path), Style{}));
  std::vector<NewFile> files;
  for (const auto& [path, text] : texts) files.emplace_back(path, text);
  for (NewFile& file : files) file.keep();
  print(main);
}

void deliver(const Session& session, const Options& options, const Answer& answer,
             const std::vector<std::string>& columns,
             const std::function<std::string(const Printed& table)>& people) {
  const bool chosen = options.has("columns");
  const std::string wanted = options.get("columns");
  if (wanted == "help") return print(fmt::format("{}\n", fmt::join(projection_columns(), "\n")));
  const std::vector<std::string> ids = !chosen           ? columns
                                       : wanted == "all" ? projection_columns()
                                                         : split_list(wanted, ',');
  if (ids.empty())
    options.blame("columns",
                  UsageError(fmt::format("--columns {} names none", wanted), "`--columns help` lists them"));
  deliver(session, options, [&](const std::string& format, Style style) -> std::string {
    if (format == "json") return to_json(answer);
    if (format == "jsonl") return to_jsonl(answer);
    Table table = options.read("columns", "", [&](const std::string&) {
      return projection_table(answer, format == "csv" && !chosen ? projection_columns() : ids);
    });
    if (format == "csv") return to_csv(table);
    if (!chosen) table = without_empty_columns(table, {"strategy", "epoch"});
    if (format != "text") return render_table(format, table);
    if (chosen) style.width = 0;
    const Printed printed = to_text(table, style);
    hint(session, printed.hint);
    return people(printed);
  });
}

}  // namespace paradl
