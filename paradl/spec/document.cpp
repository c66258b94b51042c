#include "paradl/spec/document.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

namespace paradl {
namespace {

/// No spec is near this size; refusing early keeps a wrong file name from costing seconds.
constexpr std::size_t largest_file = 16u << 20;

std::string read_all(std::istream& in, const std::string& name) {
  std::string text;
  for (std::array<char, 1 << 16> chunk; in.read(chunk.data(), chunk.size()), in.gcount() > 0;) {
    text.append(chunk.data(), std::size_t(in.gcount()));
    if (text.size() > largest_file)
      throw UsageError(fmt::format("{} is larger than 16 MiB", name),
                       "spec files are small; is it the right file?");
  }
  if (in.bad()) throw EnvironmentError(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  return text;
}

}  // namespace

SourceText read_source(const std::string& path) {
  if (path == "-") return {"standard input", read_all(std::cin, "standard input")};
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) throw UsageError(fmt::format("there is no file `{}`", path), "check the path");
  if (fs::is_directory(status))
    throw UsageError(fmt::format("`{}` is a directory, not a file", path), "name a file in it");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw EnvironmentError(fmt::format("cannot read `{}`: {}", path, std::strerror(errno)));
  return {path, read_all(in, fmt::format("`{}`", path))};
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
