#pragma once
#include <string>
#include <vector>

#include "paradl/core/error.hpp"

namespace paradl {

/// A file's name as the user knows it, and its text.
struct SourceText {
  std::string file;
  std::string text;
};

/// Reads a file whole; UsageError if there is none, EnvironmentError if it cannot be read.
SourceText read_source(const std::string& path);

/// Collects what is wrong with one file, so that a user hears of all mistakes at once.
class Problems {
 public:
  explicit Problems(const SourceText& source) : source_(source) {}

  void add(Spot where, std::string message, std::string help = {});
  bool any() const { return !list_.empty(); }
  /// Enough has been said; the rest would repeat it.
  bool full() const { return list_.size() >= most; }
  /// Throws SpecError if anything was added.
  void raise() const;

 private:
  static constexpr std::size_t most = 10;
  const SourceText& source_;
  std::vector<Problem> list_;
};

}  // namespace paradl
