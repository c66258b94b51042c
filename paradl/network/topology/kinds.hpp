#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "paradl/network/topology.hpp"

namespace paradl {

/// The parts of `torus:8,8`: its kind, and its numbers, group by group.
struct TopologyWord {
  std::string text;
  std::string kind;
  std::vector<std::vector<int>> groups;  // "2;24,3" is {{2}, {24, 3}}
  std::string form;                      // the correct form, for error messages

  /// Refuses the word unless it has a group of each of these sizes.
  void demand(const std::vector<std::size_t>& sizes) const;
  /// Refuses the word, for a reason such as "has an odd number of switches".
  [[noreturn]] void refuse(const std::string& reason) const;
  /// Refuses what would take too long to build. They are doubles, because the product of the numbers may
  /// overflow an integer.
  void limit(double vertices, double cables) const;
};

constexpr double most_vertices = 1e6, most_cables = 4e6;

/// One maker for each kind.
std::unique_ptr<Topology> make_crossbar(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_fat_tree(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_torus(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_mesh(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_dragonfly(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_bigraph(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_dln(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_random_dln(const TopologyWord& word, const WireSpec& wires);
std::unique_ptr<Topology> make_tsubame3(const TopologyWord& word, const WireSpec& wires);

}  // namespace paradl
