#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/machine/link.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

struct Machine;

/// A capacity that flows share: one direction of a cable, or both if it is half duplex.
struct Wire {
  int from = 0, to = 0;       // vertices
  Link link;                  // latency, and seconds per byte
  int cables = 1;             // bundled in it; `link` is that of the whole bundle
  double idle = 0, peak = 0;  // watts of its cables, both directions together; zero: not known
};

/// How a dragonfly routes: minimally, or as SimGrid 3.32 does.
enum class Routing { minimal, simgrid };

/// The place of a vertex in a drawing. The smallest distance between two vertices is about 1.
struct Place {
  double x = 0, y = 0;
};

/// Hosts, switches, the wires between them, and the route from each host to each other.
class Topology {
 public:
  virtual ~Topology() = default;

  /// The wires from one host to another, in order, appended to `wires`. Nothing for a host to itself.
  virtual void route(int from, int to, std::vector<int>& wires) const = 0;

  /// The route of a message of this size. It depends on the size only if large messages use circuits.
  virtual void route(int from, int to, [[maybe_unused]] Bytes size, std::vector<int>& wires) const {
    route(from, to, wires);
  }

  /// GPUs per node; 1 if the topology has no nodes.
  virtual int node_size() const { return 1; }

  /// Whether it was made from the levels of a system without a network of its own.
  virtual bool is_of_levels() const { return false; }

  /// A place for each vertex, to draw it. By default hosts are on a circle and switches on a smaller one.
  virtual std::vector<Place> places() const;

  const std::string& text() const { return text_; }                    // as typed: "torus:8,8"
  const std::optional<SourceText>& source() const { return source_; }  // the file it was read from, if any
  int hosts() const { return hosts_; }
  int vertices() const { return vertices_; }  // hosts first, then switches
  int switches() const { return vertices_ - hosts_; }
  const std::vector<Wire>& wires() const { return wires_; }
  bool half_duplex() const { return half_duplex_; }
  /// The opposite direction of the same cable; the wire itself if it is half duplex.
  int back(int wire) const { return half_duplex_ ? wire : wire ^ 1; }

  /// Number of wires between nodes. They come first, before those inside nodes.
  virtual std::size_t wires_outside() const { return wires_.size(); }

  /// Sets the power of one cable between nodes, and inside them.
  void set_watts(const Watts& outside, const Watts& inside) {
    for (std::size_t w = 0; w < wires_.size(); ++w) {
      const Watts& each = w < wires_outside() ? outside : inside;
      wires_[w].idle = each.idle * wires_[w].cables, wires_[w].peak = each.peak * wires_[w].cables;
    }
  }

 protected:
  Topology() = default;
  Topology(std::string text, int hosts, int switches, bool half_duplex)
      : text_(std::move(text)), hosts_(hosts), vertices_(hosts + switches), half_duplex_(half_duplex) {}

  /// Adds a cable, or a bundle of them; returns the wire from `from` to `to`. back(wire) is the other one.
  int add_cable(int from, int to, const Link& link, int cables = 1);

  std::string text_;
  std::optional<SourceText> source_;
  int hosts_ = 0, vertices_ = 0;
  std::vector<Wire> wires_;
  bool half_duplex_ = false;
};

/// Properties of all wires of a topology that is given as a word.
struct WireSpec {
  Link link;
  bool half_duplex = false;
  Routing routing = Routing::minimal;
  std::optional<Link> inside = {};  // of a node; `link` where it is not given
};

/// A topology as a word, in SimGrid's notation where SimGrid has one. UsageError naming what is wrong in it.
///
///     crossbar  crossbar:64       one switch; without a number it has `hosts` hosts
///     fattree:2;24,3;1,8;1,1      levels; children; parents; parallel cables, from the hosts up
///     torus:8,8  mesh:4,4,4       any number of dimensions; every host is a switch of its own
///     dragonfly:4,1;2,1;4,1;2     groups,cables; chassis,cables; routers,cables; hosts of a router
///     bigraph:4,8                 hosts of a switch, switches; every switch of one half to all of the other
///     dln:q,p                     2^q switches of 2^p hosts, linked over all powers of two
///     dln2d:x,y,z                 2^x by 2^y switches of 2^z hosts, each row and column a dln
///     dln-random:n,x,y,seed       n switches: a ring, chords to degree x, and y random cables each
///     graph:FILE                  any other: see read_graph in topology/graph.hpp
///     tsubame3-authors            see tsubame3_of_the_authors; its wires are its own
///     optical:...+SPEC            with circuits beside it: see read_optical in topology/optical.hpp
///
/// A `/` replaces hosts by nodes: `torus:8,8/nvlink:4,2` has nodes of 4 GPUs with 2 ports, each port
/// where the torus has a host (so 32 nodes and 128 GPUs). One port if no second number is given. GPU i of g
/// leaves through port i * ports / g. A port counts as a switch. Nodes are `nvlink` (every GPU to every
/// other), `nvswitch` (all to one switch) or `pcie` (two to a PCIe switch, those to a host bridge).
std::unique_ptr<Topology> read_topology(std::string_view text, const WireSpec& wires, int hosts);

/// A system's levels as a tree: each GPU has a wire to its node; each unit of a level leaves through its
/// ports, on the link of the level above. A message that climbs to a level takes exactly that level's
/// latency.
std::unique_ptr<Topology> levels_topology(const Machine& machine);

/// The network of a machine that names one: nodes of its first level on that topology, with the wires of its
/// last. Nothing if it has only levels. UsageError if it is too small for the machine's GPUs.
std::unique_ptr<Topology> topology_of(const Machine& machine);

/// The platform on which the authors of the hierarchical allreduces simulated them: `nodes` nodes of TSUBAME3
/// with 4 GPUs each, every cable half duplex.
std::unique_ptr<Topology> tsubame3_of_the_authors(int nodes = 64);

/// Number of wires on which a host can send at once: all its wires if hosts are switches, else one.
double ports_of(const Topology& topology);

/// Facts for `paradl topology show`. Facts that take too long to count on a large topology are left out.
struct TopologyFacts {
  int hosts = 0, switches = 0, cables = 0;
  std::optional<int> diameter;   // wires on the longest of the shortest paths between hosts
  std::optional<int> bisection;  // fewest cables between the first and the last half of the hosts
  /// The smallest bandwidth between these halves: in one direction, or in both together on half-duplex
  /// cables.
  std::optional<Bandwidth> bisection_bandwidth;
};
TopologyFacts facts_of(const Topology& topology);

/// The host of each rank of a job. `consecutive`; `round-robin:K`: assigned to units of K neighbouring hosts
/// in turn; `random:SEED`: anywhere; or a file with one host per line (`#` starts a comment). UsageError if a
/// host is out of range or taken twice.
std::vector<int> read_seats(std::string_view text, int ranks, const Topology& topology);
/// From a file of `most_ranks` hosts the first ones. SpecError showing the line that is wrong.
std::vector<int> read_seats(const SourceText& file, int ranks, const Topology& topology, int most_ranks);
/// Whether the word names a file. UsageError if it is neither a rule nor a file.
bool is_seats_file(std::string_view text);

}  // namespace paradl
