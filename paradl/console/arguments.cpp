#include "paradl/console/arguments.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace paradl {
namespace {

void describe(CLI::Option& option, const About& about) {
  option.type_name(about.meta);
  if (!about.group.empty()) option.group(about.group);
  option.required(about.required);
}

}  // namespace

Arguments Arguments::add_command(const std::string& name, const std::string& summary) const {
  Arguments command(*app_->add_subcommand(name, summary), typed_);
  command.left_out_ = std::ranges::find(typed_, name) == typed_.end();
  return command;
}

void Arguments::text(const std::string& names, std::string& value, const About& about) const {
  if (left_out_) return;
  CLI::Option& option = *app_->add_option(names, value, about.help);
  describe(option, about);
  // A repeated option replaces the earlier one, so that a printed option can be appended to a command.
  if (names.starts_with('-') && !about.once) option.take_last();
}

void Arguments::texts(const std::string& names, std::vector<std::string>& values, const About& about) const {
  if (left_out_) return;
  CLI::Option& option = *app_->add_option(names, values, about.help);
  describe(option, about);
  if (names.starts_with('-')) option.allow_extra_args(false);
}

void Arguments::flag(const std::string& names, bool& value, const About& about) const {
  if (left_out_) return;
  CLI::Option& option = *app_->add_flag(names, value, about.help);
  if (!about.group.empty()) option.group(about.group);
}

void Arguments::pass_on_the_rest() const {
  app_->set_help_flag();
  app_->fallthrough(false);
  app_->prefix_command();
  app_->allow_extras();
}

void Arguments::footer(const std::string& text) const { app_->footer(text); }

void Arguments::runs(Action& action, Action run) const {
  app_->callback([&action, run = std::move(run)] { action = run; });
}

std::vector<std::string> Arguments::commands() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::string Arguments::help_of(const std::string& command) const {
  return app_->get_subcommand(command)->help("paradl");
}

}  // namespace paradl
