// paradl: the oracle.
#include "paradl/cli/command.hpp"
#include "paradl/console/program.hpp"

namespace paradl {
namespace {

constexpr const char* tree = R"(paradl: how long will training take, will it fit, and on how many GPUs?

  paradl advise    MODEL --on SYSTEM -p N          which strategy should I use?          (start here)
  paradl project   MODEL --on SYSTEM -p RANGE      the table: time and memory for strategies x GPUs
  paradl explain   STRATEGY MODEL --on SYSTEM -p N each term: formula, symbols, values, share
  paradl compare   A B [...]                       strategies, systems or saved results, side by side
  paradl collectives OP --on SYSTEM -p RANGE       time of one collective: closed form, algorithms, simulation
  paradl topology  show SPEC                       hosts, switches, cables, diameter, bisection; a picture

  paradl validate  MEASURED.csv                    how close are projections to measured runs?
  paradl calibrate ...                             measure this machine and rehearse on it (paradl-calibrate)
  paradl import    FILE                            convert a model or a system of another tool
  paradl check     FILE...                         are these spec files right?
  paradl models | systems | profiles | frameworks | strategies  [list | show NAME]
  paradl help TOPIC                                manual pages; `paradl help` lists them

Try: paradl advise resnet50 --on abci -p 64
)";

}  // namespace
}  // namespace paradl

// `define_X` in cli/X.cpp adds the options of a command; `run` in that file is the command.
int main(int argc, char** argv) {
  using namespace paradl;
  return run_program({.name = "paradl",
                      .about = "How long will training take, will it fit, and on how many GPUs?",
                      .tree = tree,
                      .parts = [] { return std::string("calibration: `paradl-calibrate --version -v`\n"); },
                      .commands = {define_advise, define_project, define_explain, define_compare,
                                   define_collectives, define_topology, define_validate, define_import,
                                   define_check, define_models, define_systems, define_profiles,
                                   define_frameworks, define_strategies, define_calibrate, define_help}},
                     argc, argv);
}
