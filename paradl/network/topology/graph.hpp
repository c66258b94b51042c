#pragma once
#include <cstdint>

#include "paradl/network/topology.hpp"

namespace paradl {

/// Any graph. Routes are shortest paths, found once; among equally short ones, the first cable is used.
class Graph : public Topology {
 public:
  struct Cable {
    int from = 0, to = 0;
    Link link;
    int cables = 1;  // as one
    Watts watts;     // of each of them; zero: not known
  };
  /// UsageError if it is not connected, or too large for a table of all routes.
  Graph(std::string text, int hosts, int switches, const std::vector<Cable>& cables, bool half_duplex);

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override;

  /// GPUs of a node, if hosts belong to nodes.
  void set_node_size(int gpus) { node_size_ = gpus; }
  int node_size() const override { return node_size_; }

  /// The file that describes it.
  void set_source(SourceText source) { source_ = std::move(source); }

  /// To draw it other than in two circles.
  void set_places(std::vector<Place> places) { places_ = std::move(places); }
  std::vector<Place> places() const override { return places_.empty() ? Topology::places() : places_; }

  static constexpr int most_vertices = 4096;  // the table has one number for each pair

 private:
  std::vector<std::vector<int>> out_;  // wires that leave a vertex
  std::vector<std::int16_t> next_;     // by target host and vertex: the next wire
  std::vector<Place> places_;
  int node_size_ = 1;
};

/// A topology written as a file: `hosts N` and `switches N`, then a line for each cable, `A B`, or
/// `A B BANDWIDTH LATENCY` where it is not like the others. Hosts are 0, 1, ...; switches follow. `#` starts
/// a comment. SpecError showing the line that is wrong.
std::unique_ptr<Topology> read_graph(const std::string& file, const WireSpec& wires);

}  // namespace paradl
