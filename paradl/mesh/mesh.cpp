#include "paradl/mesh/mesh.hpp"

#include <algorithm>
#include <cmath>

namespace paradl {
namespace {

/// n GPUs of a group, each `stride` GPUs from the next.
struct Line {
  double n = 1, stride = 1;
};

/// The most members of a line that a unit of `unit` GPUs can hold.
double fitting(const Line& line, double unit) {
  return std::clamp(std::floor(unit / line.stride), 1.0, line.n);
}

/// Members of a line inside the fullest unit (of `unit` GPUs) that it spans. Lines fill one unit after the
/// other, so the last unit may be less full. If a unit could hold a line but does not hold a whole number of
/// lines (4 GPUs a group, 6 a node), some line spans two units: the worst placed one has half in each.
double in_fullest(const Line& line, double unit) {
  const bool spans_more = line.n * line.stride > unit;
  return spans_more || std::fmod(unit, line.n * line.stride) == 0 ? fitting(line, unit)
                                                                  : std::ceil(line.n / 2);
}

/// The axes of a set as lines; neighbouring axes form one line.
struct Lines {
  std::array<Line, most_axes> line;
  std::size_t size = 0;

  template <class Members>
  double product(Members members, double unit) const {
    double out = 1;
    for (std::size_t i = 0; i < size; ++i) out *= members(line[i], unit);
    return out;
  }
};

Lines lines_of(const Mesh& mesh, AxisSet set) {
  Lines out;
  double stride = 1;
  bool joined = false;
  for (int a = mesh.axes - 1; a >= 0; --a) {
    const double n = mesh.axis[std::size_t(a)].parts.total;
    const bool in = set & axis_bit(a);
    if (in && joined)
      out.line[out.size - 1].n *= n;
    else if (in)
      out.line[out.size++] = {n, stride};
    joined = in;
    stride *= n;
  }
  return out;
}

/// Visits the levels from the inside out. On each level, subgroups send to the next subgroup;
/// `flows_out(unit, subgroup)` is how many GPUs of a unit send out of it.
template <class FlowsOut>
Path climb(const Lines& lines, double gpus, const Machine& machine, FlowsOut flows_out) {
  Path path;
  double below = 1;  // members inside one unit of the level below
  for (std::size_t k = 0; k < machine.levels.size(); ++k) {
    const Level& level = machine.levels[k];
    const double members = gpus <= level.gpus ? lines.product(fitting, gpus)
                                              : std::max(below, lines.product(in_fullest, level.gpus));
    // A flow that leaves a unit of this level also passes the ports of the smaller units around its sender.
    double phi = 1;
    std::size_t narrow = k;
    for (std::size_t j = 0; j <= k; ++j) {
      const double flows = flows_out(machine.levels[j].inside, below) / machine.levels[j].ports;
      if (flows > phi) phi = flows, narrow = j;
    }
    path.hop[k] = {
        .size = members / below, .link = level.link, .phi = phi, .level = level.name, .narrow = int(narrow)};
    path.hops = int(k) + 1;
    below = members;
    if (gpus <= level.gpus) break;
  }
  path.in_node = path.hop[0].size;
  path.sisters = std::min(gpus, machine.gpus_per_node()) / path.in_node;
  return path;
}

/// On half-duplex cables both directions share the bandwidth: a GPU that sends and receives loads them twice.
double ways(const Machine& machine) { return machine.half_duplex ? 2 : 1; }

}  // namespace

double Mesh::gpus() const {
  double p = 1;
  for (int a = 0; a < axes; ++a) p *= axis[std::size_t(a)].parts.total;
  return p;
}

double Mesh::stride(int axis_index) const {
  double s = 1;
  for (int a = axis_index + 1; a < axes; ++a) s *= axis[std::size_t(a)].parts.total;
  return s;
}

Path group_path(const Mesh& mesh, AxisSet set, const Machine& machine) {
  const double gpus = mesh.gpus();
  const Lines lines = lines_of(mesh, set);
  // Every GPU of a unit belongs to one of these groups, and all send at once. If several subgroups of one
  // group are neighbours in the unit, only the last of them sends out of it.
  return climb(lines, gpus, machine, [&](double unit, double subgroup) {
    const double neighbours = std::max(1.0, lines.product(fitting, unit) / subgroup);
    return ways(machine) * std::min(gpus, unit) / neighbours;
  });
}

Path flat_path(const Mesh& mesh, AxisSet set, const Machine& machine) {
  Path path = group_path(mesh, set, machine);
  const double p = path.size();
  const Lines lines = lines_of(mesh, set);
  const Hop outermost = path.outermost();
  for (int k = path.hops - 1; k >= 0; --k) {
    Hop& hop = path.hop[std::size_t(k)];
    if (hop.size <= 1 || hop.level != outermost.level) {
      hop.size = 1;
      continue;
    }
    hop.size = p;
    hop.phi = ways(machine);
    // A message between nodes may also be slowed down by the ports of the smaller units that it leaves.
    for (int j = 1; j <= k; ++j) {
      const Level& level = machine.levels[std::size_t(j)];
      const double unit = std::min(level.inside, mesh.gpus());
      const double rings = ways(machine) * unit / std::max(1.0, lines.product(fitting, unit));
      const double share = rings / level.ports * (level.link.beta / hop.link.beta);
      if (j == 1 || share > hop.phi) hop.phi = share, hop.narrow = j;
    }
  }
  return path;
}

Path neighbour_path(const Mesh& mesh, int axis, int dim, const Machine& machine) {
  const Parts& parts = mesh.axis[std::size_t(axis)].parts;
  Lines lines;
  lines.size = 1;
  lines.line[0] = {double(parts.total), mesh.stride(axis)};
  if (dim >= 0) {
    lines.line[0].n = parts.cut[std::size_t(dim)];
    for (std::size_t later = std::size_t(dim) + 1; later < 3; ++later)
      lines.line[0].stride *= parts.cut[later];
  }
  const double stride = lines.line[0].stride;
  const double both = dim >= 0 ? ways(machine) : 1;  // halos go both ways, activations of a stage one way
  return climb(lines, mesh.gpus(), machine,
               [&](double unit, double) { return both * std::min(stride, unit); });
}

Mesh without_ones(const Mesh& mesh) {
  Mesh out;
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].parts.total > 1)
      out.axis[std::size_t(out.axes++)] = mesh.axis[std::size_t(a)];
  return out;
}

}  // namespace paradl
