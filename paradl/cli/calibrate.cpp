// paradl calibrate: starts the program paradl-calibrate.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "paradl/cli/command.hpp"

namespace paradl {
namespace {

/// The program in the same folder, or else the one that the shell would find.
std::string program_path() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto beside = self.parent_path() / "paradl-calibrate";
  return !failed && std::filesystem::exists(beside, failed) ? beside.string() : "paradl-calibrate";
}

int run(const Session& session) {
  std::vector<std::string> words{program_path()};
  // The words after `calibrate` are for the other program.
  bool after = false;
  for (const std::string& word : session.arguments) {
    if (after) words.push_back(word);
    after |= word == "calibrate";
  }
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  execvp(raw.front(), raw.data());
  throw EnvironmentError(fmt::format("cannot start paradl-calibrate: {}", std::strerror(errno)),
                         "build it with MPI and oneDNN (README), then reinstall");
}

}  // namespace

void define_calibrate(const Arguments& root, Session& session, Action& action) {
  const Arguments command =
      root.add_command("calibrate", "measure this machine (the same as paradl-calibrate)");
  command.pass_on_the_rest();
  command.runs(action, [&session] { return run(session); });
}

}  // namespace paradl
