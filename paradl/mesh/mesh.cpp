#include "paradl/mesh/mesh.hpp"

#include <algorithm>
#include <numeric>

namespace paradl {
namespace {

/// Members of a group inside a unit of `unit` GPUs along an axis of n PEs that are `stride` apart. Where
/// units do not hold whole groups (4 GPUs a group, 6 a node), some group is cut at every unit: the greatest
/// common divisor is what even the worst placed group has.
double inside_unit(double n, double stride, double unit, double gpus) {
  if (gpus <= unit) return n;
  const auto whole_unit = static_cast<long>(unit), step = static_cast<long>(stride);
  if (step == 0 || whole_unit % step != 0) return 1;
  return double(std::gcd(static_cast<long>(n), whole_unit / step));
}

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
  Path path;
  const double gpus = mesh.gpus();
  double below = 1;  // members inside one unit of the level below
  for (const Level& level : machine.levels) {
    double members = 1, stride = 1;
    for (int a = mesh.axes - 1; a >= 0; --a) {
      const double n = mesh.axis[std::size_t(a)].parts.total;
      if (set & axis_bit(a)) members *= inside_unit(n, stride, level.gpus, gpus);
      stride *= n;
    }
    // Every PE of the unit below belongs to one of these groups, so all of them send out of it at once.
    const double flows = std::min(gpus, level.inside);
    path.hop[std::size_t(path.hops++)] = {.size = members / below,
                                          .link = level.link,
                                          .phi = std::max(1.0, flows / level.ports),
                                          .level = level.name};
    below = members;
    if (gpus <= level.gpus) break;
  }
  return path;
}

Path neighbour_path(const Mesh& mesh, int axis, const Machine& machine) {
  Path path = group_path(mesh, axis_bit(axis), machine);
  const double stride = mesh.stride(axis);
  for (int k = 0; k < path.hops; ++k) {
    const Level& level = machine.levels[std::size_t(k)];
    path.hop[std::size_t(k)].phi = std::max(1.0, std::min(stride, level.inside) / level.ports);
  }
  return path;
}

}  // namespace paradl
