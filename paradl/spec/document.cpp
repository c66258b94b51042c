#include "paradl/spec/document.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace paradl {
namespace {

/// No spec is near this size; refusing early keeps a wrong file name from costing seconds.
constexpr std::size_t largest_file = 16u << 20;

[[noreturn]] void unreadable(const std::string& name) {
  throw EnvironmentError(fmt::format("cannot read {}: {}", name, std::strerror(errno)),
                         "check the file and its permissions");
}

std::string read_all(std::FILE* in, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (const std::size_t read = std::fread(chunk.data(), 1, chunk.size(), in)) {
    text.append(chunk.data(), read);
    if (text.size() > largest_file)
      throw UsageError(fmt::format("{} is larger than 16 MiB", name),
                       "spec files are small; is it the right file?");
  }
  if (std::ferror(in)) unreadable(name);
  return text;
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// A pipe whose writer does not come within a moment (in ms below) is not waited for.
File open_pipe(const std::string& path) {
  const int pipe = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  File file(pipe < 0 ? nullptr : ::fdopen(pipe, "rb"));
  if (!file) unreadable(fmt::format("`{}`", path));
  pollfd wait{.fd = pipe, .events = POLLIN, .revents = 0};
  ::poll(&wait, 1, 300);
  // Nothing yet: without a writer that is the end, with one it is "try again".
  const int first = std::fgetc(file.get());
  if (first == EOF && std::feof(file.get()))
    throw UsageError(fmt::format("`{}` is a pipe that nobody writes to", path),
                     "name a file, or start its writer");
  std::clearerr(file.get());
  if (first != EOF) std::ungetc(first, file.get());
  ::fcntl(pipe, F_SETFL, 0);  // wait for the rest
  return file;
}

}  // namespace

SourceText read_source(const std::string& path) {
  if (path == "-") return {"standard input", read_all(stdin, "standard input")};
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) throw UsageError(fmt::format("there is no file `{}`", path), "check the path");
  if (fs::is_directory(status))
    throw UsageError(fmt::format("`{}` is a directory, not a file", path), "name a file in it");
  const File file = fs::is_fifo(status) ? open_pipe(path) : File(std::fopen(path.c_str(), "rb"));
  if (!file) unreadable(fmt::format("`{}`", path));
  return {path, read_all(file.get(), fmt::format("`{}`", path))};
}

void Problems::add(Spot where, std::string message, std::string help) {
  if (full()) return;
  message = shortened(std::move(message));
  const auto same = [&](const Problem& p) {
    return p.where.line == where.line && p.where.column == where.column && p.message == message;
  };
  if (std::ranges::any_of(list_, same)) return;  // a block that is used twice repeats its mistakes
  list_.push_back({where, std::move(message), shortened(std::move(help))});
}

void Problems::raise() const {
  if (any()) throw SpecError(source_.file, source_.text, list_);
}

}  // namespace paradl
