#pragma once
#include <cstdint>
#include <functional>

#include "calibrate/backend/communicator.hpp"
#include "paradl/machine/link.hpp"

namespace paradl::calibrate {

/// Runs `work` on each of `ranks` threads of this process, with a communicator between them: for tests, and
/// for machines without MPI. Returns when all are complete; rethrows the exception of a rank. The other ranks
/// then get an exception too, as in a deadlock, when all ranks wait and no message can arrive.
void run_threads(int ranks, const std::function<void(Communicator&)>& work);

/// A simulated network with known parameters, to check measurements. A rank sends its messages one after the
/// other, each in alpha + m beta. All messages between nodes share the bandwidth of one trunk. Messages of a
/// rank to itself stand for memory accesses; the ranks of a node share the bandwidth of its memory.
struct FakeNetwork {
  int ranks_per_node = 1;
  Link inside, between, own;
  SecondsPerByte trunk, memory;  // of the shared parts; zero: unlimited bandwidth
  double noise = 0;              // a message takes longer by a random share up to this
  std::uint64_t seed = 1;
};

/// The same on a simulated network. Only messages take time: now() advances only while all ranks wait.
void run_threads(const FakeNetwork& network, int ranks, const std::function<void(Communicator&)>& work);

}  // namespace paradl::calibrate
