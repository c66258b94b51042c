#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "paradl/spec/catalog.hpp"
#include "paradl/spec/model_spec.hpp"
#include "paradl/workload/layer.hpp"

namespace paradl {

/// Which layers a strategy may split. Empty: all that it can.
struct Cuttable {
  std::vector<bool> layer;  // by index
  bool operator()(std::size_t i) const { return layer.empty() || layer[i]; }
};

/// The work of a network, independent of any machine. Each layer comes after its inputs.
struct Workload {
  std::string name;
  std::vector<Layer> layers;
  Shape input;
  double D = 0;                // samples per epoch
  Bytes sample;                // stored bytes of one; zero: not known
  double batch = 1;            // samples per GPU, by default
  bool tokens = false;         // samples are sequences of tokens
  bool convolutional = false;  // has convolutions
  Seconds time;                // measured forward + backward of one sample, whole network; zero: not known
  std::array<Cuttable, split_names.size()> split;  // by SplitBy

  /// Whether the model lets a strategy split a layer.
  bool may_split(SplitBy by, std::size_t layer) const { return split[std::size_t(by)](layer); }
  double parameters() const;
  double macs() const;        // forward, per sample, as published (without auxiliary layers)
  double train_macs() const;  // forward, per sample, including auxiliary layers
  bool has_times() const;     // whether the model file has measured times
};

/// Infers every shape. SpecError if layers do not fit together.
Workload build_workload(const ModelSpec& spec);

/// Sets whether attention stores its scores.
void set_flash(Workload& work, bool flash);

/// A model by its name, path or family with parameters (`gpt:layers=24`). UsageError if the parameters do not
/// give a valid network.
std::pair<ModelSpec, Workload> load_model(const Catalog& catalog, const std::string& name);

}  // namespace paradl
