// paradl help: the manual pages, and the help of each command.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/cli/command.hpp"
#include "paradl/cli/help_topics.hpp"

namespace paradl {
namespace {

/// "# Units" -> "Units"
std::string heading(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  while (line.starts_with('#') || line.starts_with(' ')) line.remove_prefix(1);
  return std::string(line);
}

Table topic_table() {
  Table table{
      .columns = {{"topic", "", Holds::text, 2}, {"heading", "", Holds::text, 1}}, .rows = {}, .notes = {}};
  for (const HelpTopic& topic : help_topics()) {
    Row row;
    row.values = {std::string(topic.name), heading(topic.text)};
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string contents(const Arguments& root, const Style& style) {
  const Style uncut{.width = 0, .colour = style.colour, .unicode = style.unicode};
  return fmt::format("Topics, for `paradl help TOPIC`:\n\n{}\nCommands, for `paradl help COMMAND`:\n\n {}\n",
                     to_text(topic_table(), uncut).text, fmt::join(root.commands(), " "));
}

[[noreturn]] void refuse(const Arguments& root, const std::string& word) {
  std::vector<std::string> known = root.commands();
  for (const HelpTopic& topic : help_topics()) known.emplace_back(topic.name);
  const std::string near = did_you_mean(word, known);
  const std::string all = "`paradl help` lists the topics";
  throw UsageError(fmt::format("there is no help on `{}`", word), near.empty() ? all : near + " " + all);
}

int run(const Session& session, const Arguments& root, const std::string& word) {
  const Style style = session.style();
  const auto names = root.commands();
  const bool is_command = std::ranges::find(names, word) != names.end();
  const auto topics = help_topics();
  const auto topic = std::ranges::find(topics, word, &HelpTopic::name);
  if (word.empty()) {
    print(contents(root, style));
  } else if (topic != topics.end()) {
    const std::string text(topic->text);
    print(style.unicode ? text : ascii(text));
    if (is_command) hint(session, fmt::format("help: `paradl {} -h` is the help of the command", word));
  } else if (is_command) {
    print(root.help_of(word));
  } else {
    refuse(root, word);
  }
  return answered;
}

}  // namespace

void define_help(const Arguments& root, Session& session, Action& action) {
  auto word = std::make_shared<std::string>();
  const Arguments command = root.add_command("help", "manual pages by topic, or the help of a command");
  command.text("TOPIC", *word, {.help = "a topic or a command; without it, the list of topics"});
  command.footer(R"(Examples:
  paradl help
  paradl help units
  paradl help advise)");
  command.runs(action, [root, &session, word] { return run(session, root, *word); });
}

}  // namespace paradl
