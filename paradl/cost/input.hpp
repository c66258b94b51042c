#pragma once
#include <cstdint>

#include "paradl/cost/setting.hpp"
#include "paradl/mesh/mesh.hpp"

namespace paradl {

/// What is missing to compute the time of reading.
enum class InputLacks : std::uint8_t { nothing, sample_size, storage, read_rate };

/// The slowest part of reading.
enum class ReadBound : std::uint8_t { reader, storage, ports };

/// The cost of the input of one iteration. Fixed size, no strings: it is part of a projection.
struct InputCost {
  double workers = 1;  // M: groups of GPUs with different samples
  double space = 1,
         copies = 1;  // parts into which a worker's samples are cut, and GPUs that need each of them
  double readers = 1, at_once = 1;  // GPUs that read, in all and on one node
  Bytes read;                       // by each reader
  Bytes staged;                     // what a leader passes on, as the network reads it; zero: nothing
  Seconds reading, staging;
  Seconds exchange;  // of shuffled samples: that of an epoch, spread over its iterations
  Seconds hidden;    // the part of these three that is hidden behind the iteration
  ReadBound bound = ReadBound::reader;
  InputLacks lacks = InputLacks::nothing;
  bool known = true;  // even if something is missing, the rate of the readers may give the time
  // For a data set on node storage:
  Bytes kept_by_worker, kept_by_node;
  Bytes exchanged;  // by each worker in one epoch

  Seconds total() const { return reading + staging + exchange; }
  Seconds exposed() const { return total() - hidden; }
};

/// The input of one of `iterations` iterations per epoch; `iteration` is its time without input.
InputCost price_input(const Setting& setting, const Mesh& mesh, double batch, double iterations,
                      Seconds iteration);

/// The storage that is read from; nullptr if the machine has none.
const StorageSpec* input_storage(const Machine& machine, InputFrom from);

/// The least number of nodes whose storage holds a sharded data set; `Q` is the fraction exchanged.
double nodes_to_hold(const Workload& work, const StorageSpec& node, double Q);

}  // namespace paradl
