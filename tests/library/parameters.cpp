// Prints the number of parameters of the models that are named on the command line.
#include <fmt/format.h>

#include <paradl/spec/catalog.hpp>
#include <paradl/workload/workload.hpp>

int main(int argc, char** argv) {
  const paradl::Catalog catalog({PARADL_DATA});
  for (int i = 1; i < argc; ++i) {
    const paradl::Workload work = paradl::build_workload(catalog.model(argv[i]));
    fmt::print("{}: {:.0f} parameters\n", work.name, work.parameters());
  }
}
