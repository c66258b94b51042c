#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "paradl/network/schedule.hpp"
#include "paradl/network/topology.hpp"

namespace paradl::test {

/// The platforms of SimGrid's tables: 12.5 GB/s and 500 ns a wire, with SimGrid's routes.
inline std::string platform_word(const std::string& name, int ranks) {
  static const std::map<std::string, std::map<int, std::string>> words = {
      {"ft2full",
       {{4, "fattree:2;16,1;1,16;1,1"},
        {16, "fattree:2;16,1;1,16;1,1"},
        {64, "fattree:2;16,4;1,16;1,1"},
        {128, "fattree:2;16,8;1,16;1,1"},
        {256, "fattree:2;16,16;1,16;1,1"},
        {1024, "fattree:2;16,64;1,16;1,1"}}},
      {"ft2over3",
       {{4, "fattree:2;24,2;1,8;1,1"},
        {16, "fattree:2;24,2;1,8;1,1"},
        {64, "fattree:2;24,3;1,8;1,1"},
        {128, "fattree:2;24,6;1,8;1,1"},
        {256, "fattree:2;24,11;1,8;1,1"},
        {1024, "fattree:2;24,43;1,8;1,1"}}},
      {"ft3over3",
       {{4, "fattree:3;12,8,2;1,4,4;1,1,1"},
        {16, "fattree:3;12,8,2;1,4,4;1,1,1"},
        {64, "fattree:3;12,8,2;1,4,4;1,1,1"},
        {128, "fattree:3;12,8,2;1,4,4;1,1,1"},
        {256, "fattree:3;12,8,3;1,4,4;1,1,1"},
        {1024, "fattree:3;12,8,11;1,4,4;1,1,1"}}},
      {"torus2d",
       {{4, "torus:2,2"}, {16, "torus:4,4"}, {64, "torus:8,8"}, {256, "torus:16,16"}, {1024, "torus:32,32"}}},
      {"dragonfly",
       {{16, "dragonfly:2,1;2,1;2,1;2"},
        {64, "dragonfly:4,1;2,1;4,1;2"},
        {128, "dragonfly:4,1;4,1;4,1;2"},
        {256, "dragonfly:4,1;4,1;4,1;4"},
        {1024, "dragonfly:8,1;4,1;8,1;4"}}},
      {"dln_4_2", {{64, "dln:4,2"}}},
      {"dln_5_2", {{128, "dln:5,2"}}},
      {"dln_4_3", {{128, "dln:4,3"}}}};
  return name == "xbar" ? "crossbar" : words.at(name).at(ranks);
}

inline WireSpec simgrid_wires() {
  return {.link = {Seconds{500e-9}, 1.0 / Bandwidth{12.5e9}}, .routing = Routing::simgrid};
}
inline std::unique_ptr<Topology> platform(const std::string& name, int ranks) {
  return read_topology(platform_word(name, ranks), simgrid_wires(), ranks);
}

/// 0, 1, 2, ...: rank r on host r.
inline std::vector<int> in_order(int ranks) {
  std::vector<int> out(static_cast<std::size_t>(ranks));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// The state of the Mersenne Twister after Python's `random.seed(n)`.
class PythonSeed {
 public:
  using result_type = std::uint32_t;
  explicit PythonSeed(std::uint32_t seed) : seed_(seed) {}

  template <class Iterator>
  void generate(Iterator first, Iterator last) const {
    std::array<std::uint32_t, 624> x{19650218};
    const auto scramble = [&x](std::uint32_t i, std::uint32_t factor) {
      const std::uint32_t before = x[(i + 623) % 624];
      return (before ^ before >> 30) * factor;
    };
    for (std::uint32_t i = 1; i < 624; ++i) x[i] = scramble(i, 1812433253) + i;
    std::uint32_t i = 1;
    const auto step = [&] {
      if (++i == 624) {
        x[0] = x[623];
        i = 1;
      }
    };
    for (int k = 0; k < 624; ++k, step()) x[i] = (x[i] ^ scramble(i, 1664525)) + seed_;
    for (int k = 0; k < 623; ++k, step()) x[i] = (x[i] ^ scramble(i, 1566083941)) - i;
    x[0] = 0x80000000;
    std::copy_n(x.begin(), last - first, first);
  }

 private:
  std::uint32_t seed_;
};

/// Python's `random.seed(ranks)`, then `random.shuffle` of 0, 1, 2, ...
inline std::vector<int> shuffled_by_python(int ranks) {
  PythonSeed seed{std::uint32_t(ranks)};
  std::mt19937 twister(seed);
  const auto below = [&twister](std::uint32_t n) {
    int bits = 0;
    while (n >> bits) ++bits;
    for (;;)
      if (const auto r = std::uint32_t(twister()) >> (32 - bits); r < n) return r;
  };
  std::vector<int> out = in_order(ranks);
  for (std::size_t i = out.size() - 1; i > 0; --i) std::swap(out[i], out[below(std::uint32_t(i) + 1)]);
  return out;
}

/// Schedules as `gen_sched.py` writes them; rank i of the algorithm is place[i] of the schedule.
class SimgridSchedule {
 public:
  SimgridSchedule(std::vector<int> place, double bytes) : place_(std::move(place)), bytes_(bytes) {
    out_.ranks = ranks();
  }
  int ranks() const { return int(place_.size()); }

  /// Several parallel rings: the ranks with the same remainder form one.
  Schedule ring(int rings = 1) {
    const int length = ranks() / rings;
    out_.begin(2 * (length - 1));
    for (int j = 0; j < rings; ++j)
      for (int i = 0; i < length; ++i) add(i * rings + j, (i + 1) % length * rings + j, bytes_ / length);
    return out_;
  }

  Schedule halving_doubling(bool far_first = false) {
    return mirrored(
        [&](int rank, int step) { return rank ^ 1 << (far_first ? dimensions() - 1 - step : step); });
  }

  /// For 2^q switches of 2^p hosts.
  Schedule shifted_halving_doubling(int q, int p) {
    return mirrored([=](int rank, int step) {
      const int local = rank % (1 << p);
      return rank ^ 1 << (step < p ? step : p + (step - p + local) % q);
    });
  }

  Schedule recursive_doubling() {
    for (int k = 0; k < dimensions(); ++k) {
      out_.begin();
      for (int i = 0; i < ranks(); ++i) add(i, i ^ 1 << k, bytes_);
    }
    return out_;
  }

  /// Bytes added to every message.
  double header = 0;

 private:
  int dimensions() const {
    int k = 0;
    while (1 << k < ranks()) ++k;
    return k;
  }
  template <class Partner>
  Schedule mirrored(Partner partner) {
    for (int s = 0; s < 2 * dimensions(); ++s) {
      const int step = std::min(s, 2 * dimensions() - 1 - s);
      out_.begin();
      for (int i = 0; i < ranks(); ++i) add(i, partner(i, step), bytes_ / (2 << step));
    }
    return out_;
  }
  void add(int from, int to, double bytes) {
    out_.add({.source = place_[std::size_t(from)],
              .target = place_[std::size_t(to)],
              .bytes = Bytes{bytes + header}});
  }

  std::vector<int> place_;
  double bytes_;
  Schedule out_;
};

/// The rows of a CSV file, by the names of its first line. Lines may end as on Windows.
inline std::vector<std::map<std::string, std::string>> read_table(const std::string& path) {
  std::ifstream in(path);
  const auto cells = [](std::string line) {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string> out{""};
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        out.emplace_back();
      else
        out.back() += c;
    }
    return out;
  };
  std::vector<std::map<std::string, std::string>> rows;
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = cells(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> values = cells(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) row[names[i]] = values[i];
  }
  return rows;
}

}  // namespace paradl::test
