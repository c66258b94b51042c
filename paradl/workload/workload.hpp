#pragma once
#include <string>
#include <utility>
#include <vector>

#include "paradl/spec/catalog.hpp"
#include "paradl/spec/model_spec.hpp"
#include "paradl/workload/layer.hpp"

namespace paradl {

/// Which layers a strategy may cut. Empty: all that it can.
struct Cuttable {
  std::vector<bool> layer;  // by index
  bool operator()(std::size_t i) const { return layer.empty() || layer[i]; }
};

/// What has to be done, free of any machine: layers in an order in which each follows its inputs.
struct Workload {
  std::string name;
  std::vector<Layer> layers;
  Shape input;
  double D = 0;                // samples per epoch
  Bytes sample;                // stored bytes of one; zero: not known
  double batch = 1;            // samples per GPU where nothing else is asked for
  bool tokens = false;         // samples are sequences of tokens
  bool convolutional = false;  // has convolutions
  Seconds time;                // measured forward + backward of one sample, whole network; zero: not known
  Cuttable spatial, filter, channel, tensor;

  double parameters() const;
  double macs() const;        // forward, per sample, as published (auxiliary layers left out)
  double train_macs() const;  // forward, per sample, of all that is trained
  bool has_times() const;     // the model file brings measured times
};

/// Infers every shape. SpecError where layers do not fit together.
Workload build_workload(const ModelSpec& spec);

/// Attention that stores its scores, or does not.
void set_flash(Workload& work, bool flash);

/// A model by its name, path or family with parameters (`gpt:layers=24`). Parameters that make no network are
/// a mistake of the command line: UsageError.
std::pair<ModelSpec, Workload> load_model(const Catalog& catalog, const std::string& name);

}  // namespace paradl
