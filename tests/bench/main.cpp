#include <benchmark/benchmark.h>

#include "paradl/core/memory.hpp"

int main(int argc, char** argv) {
  paradl::keep_freed_memory();  // as the program does
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const bool any = benchmark::RunSpecifiedBenchmarks() > 0;
  benchmark::Shutdown();
  return any ? 0 : 1;  // a filter that matches nothing is a mistake
}
