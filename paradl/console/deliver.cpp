#include "paradl/console/deliver.hpp"

#include <nlohmann/json.hpp>

namespace paradl {
namespace {

std::vector<std::string> paths_of(const std::vector<NewText>& files) {
  std::vector<std::string> out;
  for (const NewText& file : files) out.push_back(file.path);
  return out;
}

std::vector<std::string> joined(std::vector<std::string> some, const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

std::string printed(const Session& session, const Options& options, const Output& output) {
  return options.format(bool(output.picture)).print(output, session.style());
}

}  // namespace

void deliver(const Session& session, const Options& options, const Output& output, const AnswerFiles& files) {
  const std::vector<std::string> written = joined(options.outputs(), paths_of(files.more));
  refuse_twice(written);
  refuse_overwriting(written, joined(files.read, options.files()));
  // Nothing is written before everything is rendered.
  const std::string main = printed(session, options, output);
  std::vector<NewText> texts = files.more;
  for (const std::string& path : options.outputs())
    texts.push_back({path, format_of_file(path, bool(output.picture)).print(output, Style{})});
  write_files(texts);
  print(main);
}

void print_answer(const Session& session, const Options& options, const Output& output) {
  print(printed(session, options, output));
}

void check_delivery(const Options& options, const std::vector<std::string>& read) {
  options.format();
  refuse_overwriting(options.outputs(), joined(read, options.files()));
  for (const std::string& path : options.outputs()) {
    format_of_file(path);
    demand_writable_folder(path);
  }
}

}  // namespace paradl
