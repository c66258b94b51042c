#include "calibrate/files/replace_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "paradl/core/error.hpp"

namespace paradl::calibrate {
namespace {

void make_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed)
    throw EnvironmentError(fmt::format("cannot create the folder {}: {}", folder.string(), failed.message()));
}

}  // namespace

void replace_file(const std::string& path, const std::string& text) {
  make_folder_of(path);
  // If the path is a link, the file that it points to is replaced. The new file is beside the old one,
  // because a rename is atomic only within one file system.
  std::error_code failed;
  std::filesystem::path target = std::filesystem::weakly_canonical(path, failed);
  if (failed) target = path;
  const std::string beside = fmt::format("{}.new{}", target.string(), getpid());
  {
    std::ofstream out(beside, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
      std::filesystem::remove(beside, failed);
      throw EnvironmentError(fmt::format("cannot write {}", path), "check the permissions of its folder");
    }
  }
  if (std::filesystem::exists(target, failed))
    std::filesystem::permissions(beside, std::filesystem::status(target).permissions(), failed);
  std::filesystem::rename(beside, target, failed);
  if (failed) {
    const std::string why = failed.message();
    std::filesystem::remove(beside, failed);
    throw EnvironmentError(fmt::format("cannot write {}: {}", path, why));
  }
}

void demand_writable(const std::string& path) {
  make_folder_of(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    throw EnvironmentError(fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                           "check the folder and its permissions, or name another with -o");
}

}  // namespace paradl::calibrate
