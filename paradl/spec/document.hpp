#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/error.hpp"

namespace paradl {

/// A file's name as the user typed it, and its text.
struct SourceText {
  std::string file;
  std::string text;
};

/// The file of a text that was read from `-`.
inline constexpr std::string_view standard_input = "standard input";

/// Reads a whole file. UsageError if it does not exist, EnvironmentError if it cannot be read.
SourceText read_source(const std::string& path);

/// Collects the mistakes in one file, so that all of them are reported at once.
class Problems {
 public:
  explicit Problems(const SourceText& source) : source_(source) {}

  void add(Spot where, std::string message, std::string help = {});
  bool any() const { return !list_.empty(); }
  /// Whether further mistakes are dropped because enough are collected.
  bool full() const { return list_.size() >= most; }
  /// Throws SpecError if anything was added.
  void raise() const;

 private:
  static constexpr std::size_t most = 10;
  const SourceText& source_;
  std::vector<Problem> list_;
};

}  // namespace paradl
