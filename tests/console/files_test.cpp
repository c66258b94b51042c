#include "paradl/console/files.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;
namespace fs = std::filesystem;

namespace {

/// A folder that is removed in the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("paradl_files_test_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path / "a"); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* name) const { return (path / name).string(); }
};

}  // namespace

TEST_CASE("files: what is read is not overwritten, however its path is spelled") {
  const Folder folder;
  const std::string runs = folder / "runs.csv";
  write_file(runs, "model\n");
  fs::create_symlink(runs, folder / "symbolic.csv");
  fs::create_hard_link(runs, folder / "hard.csv");
  for (const char* other : {"a/../runs.csv", "symbolic.csv", "hard.csv"})
    CHECK(complaint([&] {
            refuse_overwriting({folder / other}, {"no such file", runs});
          }) == "usage: `" + folder / other + "` would overwrite `" + runs +
                    "`, which is read here\nhelp: name another file to write\n");
  CHECK(complaint([&] { refuse_overwriting({runs}, {runs}); }) ==
        "usage: `" + runs +
            "` would be overwritten, but it is read here\nhelp: name another file to write\n");
  refuse_overwriting({folder / "new.csv", "/dev/null"}, {runs, "/dev/null"});
}

TEST_CASE("files: a file is written once, however its path is spelled, also if it does not exist") {
  const auto twice = [](const std::string& one, const std::string& other) {
    return complaint([&] { refuse_twice({one, other}); });
  };
  const Folder folder;
  CHECK(
      twice("nowhere.json", "./nowhere.json") ==
      "usage: `./nowhere.json` would be written twice\nhelp: name each file once; the extension chooses the "
      "format\n");
  fs::create_symlink("new.json", folder / "link.json");
  CHECK(says(twice(folder / "new.json", folder / "link.json"), "would be written twice"));
  CHECK(says(twice(folder / "new.json", folder / "a/../new.json"), "would be written twice"));
  refuse_twice({"nowhere.json", "nowhere.csv", folder / "nowhere.json"});
}
