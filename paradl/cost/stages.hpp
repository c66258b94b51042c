#pragma once
#include <vector>

#include "paradl/cost/setting.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl {

/// Stages of a pipeline that hold the same layers and pass on the same tensors: priced once and counted.
struct StageKind {
  struct Share {
    int cell;
    double count;
  };
  std::vector<Share> cells;
  std::vector<Kept> sent;  // to the next stage; empty for the last
  int first = 0;           // the foremost stage of this kind: it has most micro-batches in flight
  double count = 0;
};

/// A layout cut into stages.
struct StagePlan {
  int stages = 1;
  std::vector<StageKind> kinds;
  std::vector<int> first_layer;  // of each stage
};

/// Balances the stages by the time of their layers. Needs stages <= layers.
StagePlan plan_stages(const Layout& layout, const LayerTimes& times, int stages);

}  // namespace paradl
