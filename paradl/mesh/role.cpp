#include "paradl/mesh/role.hpp"

namespace paradl {

RoleRow row_of(Role role, Placement incoming) {
  using enum Placement;
  // clang-format off
  switch (role) {  //           x wanted       y given        dy wanted      dx given
    case Role::data:    return {split_sample,  split_sample,  split_sample,  split_sample};
    case Role::spatial: return {split_space,   split_space,   split_space,   split_space};
    case Role::filter:  return {replicated,    split_channel, split_channel, partial};
    case Role::channel: return {split_channel, partial,       replicated,    split_channel};
    case Role::expert:  return {split_expert,  split_expert,  split_expert,  split_expert};
    case Role::keep:    return {incoming,      incoming,      incoming,      incoming};
    case Role::stage:
    case Role::whole:   return {replicated,    replicated,    replicated,    replicated};
  }
  // clang-format on
  return {};
}

}  // namespace paradl
