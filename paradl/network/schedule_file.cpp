#include "paradl/network/schedule_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "paradl/core/text.hpp"

namespace paradl {
namespace {

constexpr int most_ranks = 1'000'000, most_steps = 1'000'000, most_repetitions = 1'000'000'000;
constexpr double most_bytes = 1e18;
constexpr const char* header_form = "the first line has two numbers: ranks and steps";
constexpr const char* flow_form = "a line has five numbers: step, repetitions, source, destination, bytes";

/// A word and its place.
struct Word {
  std::string_view text;
  Spot spot;
};

class ScheduleReader {
 public:
  explicit ScheduleReader(const SourceText& source) : rest_(source.text), problems_(source) {}

  Schedule read() {
    if (const auto spot = not_text(rest_)) problems_.add(*spot, "this is not text", header_form);
    problems_.raise();
    if (!next_line()) problems_.add({1, 1, 1}, "this schedule is empty", header_form);
    problems_.raise();
    read_header();
    problems_.raise();  // without it no line can be checked
    while (!problems_.full() && next_line()) read_flow();
    if (!problems_.any()) check_end();
    problems_.raise();
    return std::move(schedule_);
  }

 private:
  /// Splits the next line that is not blank into words.
  bool next_line() {
    words_.clear();
    while (words_.empty() && !rest_.empty()) {
      ++line_;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      split(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
    }
    return !words_.empty();
  }

  void split(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    for (std::size_t at = 0; (at = line.find_first_not_of(blanks, at)) != line.npos;) {
      const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
      words_.push_back({line.substr(at, end - at), {line_, int(at) + 1, int(end - at)}});
      at = end;
    }
  }

  bool has_words(std::size_t count, const char* form) {
    if (words_.size() == count) return true;
    const Word& word = words_[std::min(count, words_.size() - 1)];
    problems_.add(
        word.spot,
        fmt::format("this line has {} number{}, not {}", words_.size(), words_.size() == 1 ? "" : "s", count),
        form);
    return false;
  }

  /// A whole number within bounds; otherwise reports a problem and returns `least`.
  int number(const Word& word, const char* name, int least, int most) {
    long long value = 0;
    const char* const end = word.text.data() + word.text.size();
    const auto [stop, failed] = std::from_chars(word.text.data(), end, value);
    if (failed == std::errc::invalid_argument || stop != end)
      problems_.add(word.spot, fmt::format("`{}` is not a whole number", word.text),
                    fmt::format("write the {} here", name));
    else if (failed != std::errc{} || value < least || value > most)
      problems_.add(word.spot, fmt::format("{} {} is out of range", name, word.text),
                    fmt::format("write a number from {} to {}", least, most));
    else
      return int(value);
    return least;
  }

  Bytes bytes(const Word& word) {
    double value = 0;
    const char* const end = word.text.data() + word.text.size();
    const auto [stop, failed] = std::from_chars(word.text.data(), end, value);
    if (failed == std::errc::invalid_argument || stop != end || std::isnan(value))
      problems_.add(word.spot, fmt::format("`{}` is not a number of bytes", word.text),
                    "write it without unit");
    else if (value < 0)
      problems_.add(word.spot, fmt::format("{} bytes cannot be sent", word.text), "0 or more");
    else if (failed != std::errc{} || value > most_bytes)
      problems_.add(word.spot, fmt::format("{} bytes are too many", word.text),
                    fmt::format("at most {:g}", most_bytes));
    else
      return Bytes{value};
    return Bytes{};
  }

  void read_header() {
    if (!has_words(2, header_form)) return;
    schedule_.ranks = number(words_[0], "number of ranks", 1, most_ranks);
    steps_ = number(words_[1], "number of steps", 1, most_steps);
    steps_spot_ = words_[1].spot;
  }

  void read_flow() {
    if (!has_words(5, flow_form)) return;
    const int step = number(words_[0], "step", 0, steps_ - 1);
    const int repeat = number(words_[1], "number of repetitions", 1, most_repetitions);
    const Flow flow{.source = number(words_[2], "rank", 0, schedule_.ranks - 1),
                    .target = number(words_[3], "rank", 0, schedule_.ranks - 1),
                    .bytes = bytes(words_[4])};
    if (problems_.any()) return;
    if (in_order(step) && agrees(step, repeat)) schedule_.add(flow);
  }

  /// Steps come one after the other; each begins with its first line.
  bool in_order(int step) {
    const int next = int(schedule_.steps.size());
    if (step == next || step == next - 1) return true;
    if (step < next)
      problems_.add(words_[0].spot, fmt::format("step {} after step {}", step, next - 1),
                    "sort the lines by step");
    else
      problems_.add(words_[0].spot, fmt::format("step {} is missing", next), "steps are counted from 0");
    return false;
  }

  bool agrees(int step, int repeat) {
    if (step == int(schedule_.steps.size())) {
      repetitions_ += repeat;
      if (repetitions_ > most_repetitions)
        problems_.add(words_[1].spot, fmt::format("more than {} repetitions in all", most_repetitions),
                      "repeat its steps less often: times are in proportion");
      schedule_.begin(repeat);
      step_line_ = line_;
    }
    const int first = schedule_.steps.back().repeat;
    if (repeat == first) return true;
    problems_.add(
        words_[1].spot,
        fmt::format("step {} is repeated {} times here, and {} times on line {}: its ranks would wait for "
                    "ever",
                    step, repeat, first, step_line_),
        "all messages of a step have the same number of repetitions; use two steps");
    return false;
  }

  void check_end() {
    if (int(schedule_.steps.size()) == steps_) return;
    problems_.add(steps_spot_,
                  fmt::format("{} step{}, but {} follow{}", steps_, steps_ == 1 ? "" : "s",
                              schedule_.steps.size(), schedule_.steps.size() == 1 ? "s" : ""),
                  "is the file complete?");
  }

  std::string_view rest_;
  Problems problems_;
  Schedule schedule_;
  std::vector<Word> words_;  // of the present line
  int line_ = 0, step_line_ = 0;
  int steps_ = 0;
  Spot steps_spot_;
  long long repetitions_ = 0;
};

}  // namespace

Schedule read_schedule(const SourceText& source) { return ScheduleReader(source).read(); }

}  // namespace paradl
