#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/core/text.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/network/topology.hpp"
#include "paradl/network/topology/dice.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {
namespace {

constexpr std::string_view forms = "write `consecutive`, `round-robin:4`, `random:1` or the name of a file";

template <class Number>
Number number_after(std::string_view text, std::string_view prefix) {
  Number number{};
  const std::string_view digits = text.substr(prefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty())
    throw UsageError(
        fmt::format("placement `{}` needs a whole number after the colon", shortened(std::string(text))),
        std::string(forms));
  return number;
}

std::vector<int> consecutive(int ranks) {
  std::vector<int> seats(std::size_t(ranks), 0);
  std::iota(seats.begin(), seats.end(), 0);
  return seats;
}

std::vector<int> round_robin(int unit, int ranks, int hosts) {
  if (unit < 1)
    throw UsageError("placement `round-robin` needs units of one host or more", std::string(forms));
  std::vector<int> seats;
  for (int place = 0; place < unit; ++place)
    for (int host = place; host < hosts && int(seats.size()) < ranks; host += unit) seats.push_back(host);
  return seats;
}

/// All hosts that a file names, one per line.
std::vector<int> hosts_in(const SourceText& file, int hosts) {
  Problems problems(file);
  if (const auto spot = not_text(file.text))
    problems.add(*spot, "this is not text", "write one host per line");
  problems.raise();
  std::vector<int> seats;
  std::vector<bool> taken(std::size_t(hosts), false);
  int number = 0;
  for (std::string_view line : split(file.text, '\n')) {
    ++number;
    line = line.substr(0, line.find('#'));
    constexpr std::string_view blanks = " \t\r";
    const std::size_t start = std::min(line.find_first_not_of(blanks), line.size());
    const std::string_view word = line.substr(start, line.find_last_not_of(blanks) + 1 - start);
    if (word.empty()) continue;
    const Spot spot{number, int(start) + 1, int(word.size())};
    int host = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), host);
    if (error != std::errc{} || end != word.data() + word.size() || host < 0 || host >= hosts)
      problems.add(spot, fmt::format("`{}` is not a host from 0 to {}", word, hosts - 1),
                   "write one host per line, each once");
    else if (taken[std::size_t(host)])
      problems.add(spot, fmt::format("host `{}` has a rank already", word),
                   "write one host per line, each once");
    else
      taken[std::size_t(host)] = true;
    seats.push_back(host);
  }
  problems.raise();
  return seats;
}

std::vector<int> from_file(const SourceText& file, int ranks, int most_ranks, int hosts) {
  std::vector<int> seats = hosts_in(file, hosts);
  if (int(seats.size()) != most_ranks)
    throw SpecError(file.file, file.text,
                    {{.where = {},
                      .message = fmt::format("this file places {} rank{}, not {}", seats.size(),
                                             seats.size() == 1 ? "" : "s", most_ranks),
                      .help = "write one host per line, as many as there are ranks"}});
  seats.resize(std::size_t(ranks));
  return seats;
}

/// A node, or the hosts of a switch.
int unit_of(const Topology& topology) {
  const int unit = hosts_of_a_switch(topology);
  if (unit > 1) return unit;
  throw UsageError(fmt::format("placement `round-robin` assigns ranks to nodes or switches in turn, but `{}` "
                               "has no groups of hosts",
                               topology.text()),
                   "write how many neighbouring hosts form a group: `round-robin:4`");
}

void refuse_too_many(int ranks, const Topology& topology) {
  if (ranks > topology.hosts())
    throw UsageError(
        fmt::format("{} ranks do not fit on the {} hosts of `{}`", ranks, topology.hosts(), topology.text()),
        fmt::format("use -p {} or fewer", topology.hosts()));
}

}  // namespace

bool is_seats_file(std::string_view text) {
  if (text == "consecutive" || text == "round-robin" || text.starts_with("round-robin:") ||
      text.starts_with("random:"))
    return false;
  std::error_code failed;
  if (std::filesystem::exists(text, failed)) return true;
  if (text == "random") throw UsageError("placement `random` needs a seed", "write `random:1`");
  const std::string near =
      did_you_mean(text.substr(0, text.find(':')), {"consecutive", "round-robin", "random"});
  throw UsageError(fmt::format("`{}` is neither a placement nor a file", shortened(std::string(text))),
                   near.empty() ? std::string(forms) : near);
}

std::vector<int> read_seats(const SourceText& file, int ranks, const Topology& topology, int most_ranks) {
  refuse_too_many(ranks, topology);
  return from_file(file, ranks, most_ranks, topology.hosts());
}

std::vector<int> read_seats(std::string_view text, int ranks, const Topology& topology) {
  if (is_seats_file(text)) return read_seats(read_source(std::string(text)), ranks, topology, ranks);
  refuse_too_many(ranks, topology);
  const int hosts = topology.hosts();
  if (text == "consecutive") return consecutive(ranks);
  if (text == "round-robin") return round_robin(unit_of(topology), ranks, hosts);
  if (text.starts_with("round-robin:"))
    return round_robin(number_after<int>(text, "round-robin:"), ranks, hosts);
  std::vector<int> seats = Dice(number_after<std::uint64_t>(text, "random:")).shuffled(hosts);
  seats.resize(std::size_t(ranks));
  return seats;
}

}  // namespace paradl
