#include "calibrate/cuda/compiler.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "calibrate/cuda/check.hpp"
#include "paradl/core/error.hpp"

namespace paradl::calibrate::cuda {
namespace {

struct DestroyProgram {
  void operator()(_nvrtcProgram* program) const { nvrtcDestroyProgram(&program); }
};

std::string log_of(nvrtcProgram program) {
  std::size_t size = 0;
  check(nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
  std::string log(size, '\0');
  if (size > 0) check(nvrtcGetProgramLog(program, log.data()), "nvrtcGetProgramLog");
  return log;
}

char kind_of(const std::string& parameter) {
  if (parameter.find('*') != std::string::npos) return 'p';
  if (parameter.find("i64 ") != std::string::npos) return 'i';
  if (parameter.find("float ") != std::string::npos) return 'f';
  return 's';
}

}  // namespace

Storage storage_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return Storage::fp32;
    case Precision::fp16:
      return Storage::fp16;
    case Precision::bf16:
      return Storage::bf16;
    case Precision::fp8:
      break;
  }
  throw UsageError("the back end `cuda` does not work in fp8", "use fp32, tf32, fp16 or bf16");
}

std::vector<Kernel> kernels_in(const std::string& source) {
  static constexpr std::string_view mark = "extern \"C\" __global__ void ";
  std::vector<Kernel> out;
  for (auto at = source.find(mark); at != std::string::npos; at = source.find(mark, at)) {
    at += mark.size();
    const auto open = source.find('(', at), close = source.find(')', open);
    Kernel kernel{.name = source.substr(at, open - at)};
    for (auto begin = open + 1; begin < close;) {
      const auto end = std::min(source.find(',', begin), close);
      kernel.parameters += kind_of(source.substr(begin, end - begin));
      begin = end + 1;
    }
    out.push_back(std::move(kernel));
  }
  return out;
}

std::vector<int> known_architectures() {
  int count = 0;
  check(nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> out(std::size_t(count), 0);
  check(nvrtcGetSupportedArchs(out.data()), "nvrtcGetSupportedArchs");
  std::ranges::sort(out);
  return out;
}

std::vector<char> compile_kernels(Storage storage, int architecture) {
  const std::vector<int> known = known_architectures();
  if (known.empty() || architecture < known.front()) {
    int major = 0, minor = 0;
    check(nvrtcVersion(&major, &minor), "nvrtcVersion");
    throw EnvironmentError(
        fmt::format("CUDA {}.{} no longer supports GPUs of architecture sm_{}", major, minor, architecture),
        "build with an older CUDA toolkit; a V100 (sm_70) needs CUDA 12");
  }
  const bool own = std::ranges::binary_search(known, architecture);
  const int target = own ? architecture : *(std::ranges::upper_bound(known, architecture) - 1);

  nvrtcProgram raw = nullptr;
  check(nvrtcCreateProgram(&raw, kernel_source(), "paradl.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  const std::unique_ptr<_nvrtcProgram, DestroyProgram> program(raw);
  const std::string options[] = {fmt::format("--gpu-architecture={}_{}", own ? "sm" : "compute", target),
                                 fmt::format("-DPARADL_STORAGE={}", int(storage)), "--std=c++17"};
  const char* words[] = {options[0].c_str(), options[1].c_str(), options[2].c_str()};
  if (const nvrtcResult result = nvrtcCompileProgram(raw, int(std::size(words)), words);
      result == NVRTC_ERROR_COMPILATION)
    throw EnvironmentError("NVRTC refuses the kernels:\n" + log_of(raw),
                           "please report this with the version of CUDA");
  else
    check(result, "nvrtcCompileProgram");

  std::size_t size = 0;
  check(own ? nvrtcGetCUBINSize(raw, &size) : nvrtcGetPTXSize(raw, &size), "nvrtcGetCUBINSize");
  std::vector<char> code(size, '\0');
  check(own ? nvrtcGetCUBIN(raw, code.data()) : nvrtcGetPTX(raw, code.data()), "nvrtcGetCUBIN");
  return code;
}

}  // namespace paradl::calibrate::cuda
