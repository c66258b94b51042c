#include "calibrate/files/replace_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "paradl/core/error.hpp"
#include "tests/support/temporary.hpp"

namespace paradl::calibrate {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a file is replaced as a whole, or not at all") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("lab.yaml", "old\n");
  replace_file(path, "new\n");
  CHECK(content(path) == "new\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK_THROWS_AS(replace_file(path + "/lab.yaml", "new\n"), EnvironmentError);  // in a file, not a folder
  CHECK_THROWS_AS(demand_writable(path + "/lab.yaml"), EnvironmentError);
}

TEST_CASE("a file's folder is created if it does not exist") {
  const test::TemporaryFolder folder;
  replace_file(folder.path() + "/systems/lab.yaml", "new\n");
  CHECK(content(folder.path() + "/systems/lab.yaml") == "new\n");
}

}  // namespace
}  // namespace paradl::calibrate
