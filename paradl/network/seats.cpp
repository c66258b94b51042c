#include <charconv>
#include <filesystem>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
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

std::vector<int> from_file(const std::string& name, int ranks, int hosts) {
  std::error_code failed;
  if (!std::filesystem::exists(name, failed))
    throw UsageError(fmt::format("no placement `{}`, and no file of that name", shortened(name)),
                     std::string(forms));
  std::istringstream in(read_source(name).text);
  std::vector<int> seats;
  std::vector<bool> taken(std::size_t(hosts), false);
  std::string line;
  for (int number = 1; std::getline(in, line) && int(seats.size()) < ranks; ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    int host = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), host);
    const auto refuse = [&](std::string_view why) {
      throw UsageError(fmt::format("{}, line {}: `{}` {}", name, number, shortened(word), why));
    };
    if (error != std::errc{} || end != word.data() + word.size() || host < 0 || host >= hosts)
      refuse(fmt::format("is not a host from 0 to {}", hosts - 1));
    if (taken[std::size_t(host)]) refuse("is taken by an earlier rank");
    taken[std::size_t(host)] = true;
    seats.push_back(host);
  }
  if (int(seats.size()) < ranks)
    throw UsageError(fmt::format("{} seats {} ranks, not {}", name, seats.size(), ranks),
                     "write one host a line");
  return seats;
}

}  // namespace

std::vector<int> read_seats(std::string_view text, int ranks, const Topology& topology) {
  const int hosts = topology.hosts();
  if (ranks > hosts)
    throw UsageError(
        fmt::format("{} ranks do not fit on the {} hosts of `{}`", ranks, hosts, topology.text()));
  if (text == "consecutive") return consecutive(ranks);
  if (text.starts_with("round-robin:"))
    return round_robin(number_after<int>(text, "round-robin:"), ranks, hosts);
  if (text.starts_with("random:")) {
    std::vector<int> seats = Dice(number_after<std::uint64_t>(text, "random:")).shuffled(hosts);
    seats.resize(std::size_t(ranks));
    return seats;
  }
  return from_file(std::string(text), ranks, hosts);
}

}  // namespace paradl
