#pragma once
#include <cstdint>
#include <functional>

#include "calibrate/backend/communicator.hpp"
#include "paradl/machine/link.hpp"

namespace paradl::calibrate {

/// Runs `work` on each of `ranks` threads of this process, with a communicator between them: for tests, and
/// for machines without MPI. Returns when all are done; throws what a rank threw. The others are then told
/// by an exception too, as they are when all ranks wait and no message can come.
void run_threads(int ranks, const std::function<void(Communicator&)>& work);

/// A network of which all is known, so that what is measured on it can be told right from wrong. A rank sends
/// its messages one after the other, each in alpha + m beta. Messages to other nodes go through one trunk, in
/// which all that go at the same time share the bandwidth; messages of a rank to itself stand for work on
/// memory, whose bandwidth the ranks of a node share.
struct FakeNetwork {
  int ranks_per_node = 1;
  Link inside, between, own;
  SecondsPerByte trunk, memory;  // of the shared parts; zero: as wide as need be
  double noise = 0;              // a message takes up to this share longer, at random
  std::uint64_t seed = 1;
};

/// The same on a fake network. Time is what its messages take, and nothing else takes time: now() moves only
/// while all ranks wait.
void run_threads(const FakeNetwork& network, int ranks, const std::function<void(Communicator&)>& work);

}  // namespace paradl::calibrate
