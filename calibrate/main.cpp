// paradl-calibrate: measures a machine, and rehearses strategies on it.
#include <cstdio>

#include <stdlib.h>  // setenv is POSIX, not C++

#include "calibrate/commands/commands.hpp"
#include "paradl/console/program.hpp"

namespace {

constexpr const char* tree =
    R"(paradl-calibrate: measures this machine for paradl, and rehearses strategies on it.

  paradl-calibrate all        NAME --model MODEL   all of the below for one machine         (start here)
  paradl-calibrate layers     MODEL -b N           times of each layer's passes, whole and split -> profiles/
  paradl-calibrate links      NAME                 latency and bandwidth of every level -> systems/
  paradl-calibrate contention                      slowdown of flows that share a link or a memory
  paradl-calibrate runs       RUNS.csv             links and framework costs from measured training runs
  paradl-calibrate fit        kernels FOLDER       parameters of modelled layer times -> profiles/kernels/
  paradl-calibrate fit        links TABLE          links from published times of collectives -> systems/
  paradl-calibrate rehearse   MODEL --all          run strategies, and compare them with the projection

Under mpirun or srun all ranks take part and one prints. Without a GPU: --backend cpu, which is the default.
Try: mpirun -np 2 paradl-calibrate rehearse tiny-cnn --all -b 16
)";

}  // namespace

int main(int argc, char** argv) {
  using namespace paradl;
  using namespace paradl::calibrate;
  if (launched_rank() > 0 && !std::freopen("/dev/null", "w", stdout))
    return bad_environment;  // only rank 0 prints
  // Under mpirun the stdout of rank 0 is a terminal, even if the output of mpirun is redirected.
  if (launched()) setenv("NO_COLOR", "1", 0);
  return leave(run_program({.name = "paradl-calibrate",
                            .about = "Measures this machine, and rehearses strategies on it.",
                            .tree = tree,
                            .parts = parts_of_this_build,
                            .patience = Seconds{launched_rank() > 0 ? 1.0 : 0.0},
                            .commands = {define_all, define_layers, define_links, define_contention,
                                         define_fit, define_rehearse, define_runs}},
                           argc, argv));
}
