#include "paradl/report/answer.hpp"

namespace paradl {

double model_flop(const Setting& setting, double batch) {
  constexpr double passes = 3;  // forward, and backward with respect to inputs and weights
  constexpr double flop_per_mac = 2;
  return passes * flop_per_mac * setting.work.train_macs() * batch;
}

double tokens_per_sample(const Workload& work) { return work.tokens ? work.input.positions() : 0; }

}  // namespace paradl
