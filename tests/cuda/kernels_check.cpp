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

TEST_SUITE("kernels") {
  TEST_CASE("a kernel's parameters are read by their kinds") {
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

  TEST_CASE("NVRTC compiles all kernels for every architecture people use") {
    const std::vector<int> known = known_architectures();
    int compiled = 0;
    for (const int architecture : {70, 75, 80, 86, 89, 90, 100, 120}) {
      CAPTURE(architecture);
      if (architecture < known.front()) {
        CHECK_THROWS_AS(compile_kernels(Storage::fp32, architecture), EnvironmentError);
        continue;
      }
      if (!std::ranges::binary_search(known, architecture)) continue;
      for (const Storage storage : {Storage::fp32, Storage::fp16, Storage::bf16}) {
        // Each storage differs by a few lines: all of them for the oldest and the newest, one for the others.
        if (storage != Storage::fp16 && architecture != known.front() && architecture != 120) continue;
        const std::vector<char> code = compile_kernels(storage, architecture);
        CHECK(std::string(code.data(), 4) == "\177ELF");
        for (const Kernel& kernel : kernels_in(kernel_source())) {
          const std::string section = ".text." + kernel.name;
          CAPTURE(kernel.name);
          CHECK(std::search(code.begin(), code.end(), section.begin(), section.end() + 1) != code.end());
        }
        ++compiled;
      }
    }
    MESSAGE(compiled, " modules compiled");
    CHECK(compiled > 5);
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
