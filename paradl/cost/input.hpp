#pragma once
#include <cstdint>

#include "paradl/cost/setting.hpp"
#include "paradl/mesh/mesh.hpp"

namespace paradl {

/// What is missing to tell the time of reading.
enum class InputLacks : std::uint8_t { nothing, sample_size, storage, read_rate };

/// What the slowest part of reading is.
enum class ReadBound : std::uint8_t { reader, storage, ports };

/// What the input of one iteration takes. Fixed size, no strings: it is part of a projection.
struct InputCost {
  double workers = 1;  // M: groups of PEs that have other samples than the others
  double space = 1,
         copies = 1;  // parts into which a worker's samples are cut, and PEs that need each of them
  double readers = 1, at_once = 1;  // PEs that read, in all and on one node
  Bytes read;                       // by each of them
  Bytes staged;                     // what a leader passes on, as the network takes it; zero: nothing
  Seconds reading, staging;
  Seconds exchange;  // of shuffled samples: an epoch's, spread over its iterations
  Seconds hidden;    // of all three, behind the iteration
  ReadBound bound = ReadBound::reader;
  InputLacks lacks = InputLacks::nothing;
  bool known = true;  // lacking something, what the readers allow may still tell the time
  // Of a data set on node storage:
  Bytes kept_by_worker, kept_by_node;
  Bytes exchanged;  // by each worker in one epoch

  Seconds total() const { return reading + staging + exchange; }
  Seconds exposed() const { return total() - hidden; }
};

/// The input of one of `iterations` iterations per epoch, which takes `iteration` besides.
InputCost price_input(const Setting& setting, const Mesh& mesh, double batch, double iterations,
                      Seconds iteration);

/// The storage that is read from; nullptr if the machine has none.
const StorageSpec* input_storage(const Machine& machine, InputFrom from);

/// Nodes from which on a data set that is dealt out fits on node storage; `Q` is the fraction exchanged.
double nodes_to_hold(const Workload& work, const StorageSpec& node, double Q);

}  // namespace paradl
