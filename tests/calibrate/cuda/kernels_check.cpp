#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "calibrate/cuda/compiler.hpp"
#include "paradl/core/error.hpp"
#include "tests/support/source_dir.hpp"

namespace paradl::calibrate::cuda {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

/// Checks that the module compiled by NVRTC contains every kernel. Skips GPUs that this CUDA does not know.
void compile_for(int architecture, const std::vector<Storage>& storages) {
  CAPTURE(architecture);
  const std::vector<int> known = known_architectures();
  if (!std::ranges::binary_search(known, architecture)) {
    MESSAGE("this CUDA does not compile for sm_", architecture);
    return;
  }
  for (const Storage storage : storages) {
    const std::vector<char> code = compile_kernels(storage, architecture);
    CHECK(std::string(code.data(), 4) == "\177ELF");
    for (const Kernel& kernel : kernels_in(kernel_source())) {
      CAPTURE(kernel.name);
      const std::string section = ".text." + kernel.name + '\0';
      CHECK(std::search(code.begin(), code.end(), section.begin(), section.end()) != code.end());
    }
  }
}

TEST_SUITE("kernels") {
  TEST_CASE("the kinds of a kernel's parameters are read") {
    const auto kernels = kernels_in(
        "extern \"C\" __global__ void a(i64 n, Window w, const T* x, float f) {}\n"
        "__device__ void no();\nextern \"C\" __global__ void b(const void* p,\n  i64 n) {}");
    REQUIRE(kernels.size() == 2);
    CHECK(kernels[0].name == "a");
    CHECK(kernels[0].parameters == "ispf");
    CHECK(kernels[1].name == "b");
    CHECK(kernels[1].parameters == "pi");
  }

  TEST_CASE("every kernel that is launched exists, and every kernel is launched") {
    std::set<std::string> defined, launched;
    for (const Kernel& kernel : kernels_in(kernel_source())) CHECK(defined.insert(kernel.name).second);
    const std::regex call("\"([a-z_]+)\"");
    for (const auto& file :
         std::filesystem::directory_iterator(std::filesystem::path(test::source_dir()) / "calibrate/cuda")) {
      if (file.path().extension() != ".cpp") continue;
      const std::string text = text_of(file.path());
      for (std::sregex_iterator word(text.begin(), text.end(), call), end; word != end; ++word)
        if (defined.contains((*word)[1])) launched.insert((*word)[1]);
      const std::regex direct("launch(_rows)?\\(\\s*\"([a-z_]+)\"");
      for (std::sregex_iterator word(text.begin(), text.end(), direct), end; word != end; ++word) {
        CAPTURE((*word)[2].str());
        CHECK(defined.contains((*word)[2]));
      }
    }
    CHECK(launched == defined);
    CHECK(defined.size() > 40);
  }

  // Two cases, so that they run in parallel: a module takes three seconds. Only CUDA 12 supports 70.
  TEST_CASE("NVRTC compiles all kernels for older GPUs") {
    for (const int architecture : {70, 75, 80, 86, 89}) compile_for(architecture, {Storage::fp16});
  }
  TEST_CASE("NVRTC compiles all kernels for newer GPUs, in every storage") {
    for (const int architecture : {90, 100}) compile_for(architecture, {Storage::fp32});
    compile_for(120, {Storage::fp32, Storage::bf16});
  }

  TEST_CASE("GPUs that this CUDA no longer supports are refused") {
    CHECK_THROWS_AS(compile_kernels(Storage::fp32, known_architectures().front() - 1), EnvironmentError);
  }

  TEST_CASE("an architecture newer than NVRTC gets portable code") {
    const std::vector<char> code = compile_kernels(Storage::fp32, 9999);
    CHECK(std::string(code.begin(), code.end()).find(".visible .entry sgd(") != std::string::npos);
  }

  TEST_CASE("fp8 is refused by name") {
    CHECK(storage_of(Precision::tf32) == Storage::fp32);
    CHECK_THROWS_WITH_AS(storage_of(Precision::fp8), "the back end `cuda` does not work in fp8", UsageError);
  }
}

}  // namespace
}  // namespace paradl::calibrate::cuda
