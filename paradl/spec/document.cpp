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

/// Far more than any spec needs; refusing larger files early saves seconds when the file name is wrong.
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
                       "spec files are small; check the file name");
  }
  if (std::ferror(in)) unreadable(name);
  return text;
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// Gives up on a pipe that has no writer after a short wait.
File open_pipe(const std::string& path) {
  const int pipe = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  File file(pipe < 0 ? nullptr : ::fdopen(pipe, "rb"));
  if (!file) unreadable(fmt::format("`{}`", path));
  pollfd wait{.fd = pipe, .events = POLLIN, .revents = 0};
  ::poll(&wait, 1, 300);  // ms
  // If nothing has arrived, this read ends the file (no writer) or asks to try again (a writer).
  const int first = std::fgetc(file.get());
  if (first == EOF && std::feof(file.get()))
    throw UsageError(fmt::format("no program writes to the pipe `{}`", path),
                     "name a file, or start the program that writes to it");
  std::clearerr(file.get());
  if (first != EOF) std::ungetc(first, file.get());
  ::fcntl(pipe, F_SETFL, 0);  // wait for the rest
  return file;
}

}  // namespace

SourceText read_source(const std::string& path) {
  if (path == "-") return {std::string(standard_input), read_all(stdin, std::string(standard_input))};
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) throw UsageError(fmt::format("file `{}` does not exist", path), "check the path");
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
  if (std::ranges::any_of(list_, same)) return;  // a block that is used twice would report them twice
  list_.push_back({where, std::move(message), shortened(std::move(help))});
}

void Problems::raise() const {
  if (any()) throw SpecError(source_.file, source_.text, list_);
}

}  // namespace paradl
