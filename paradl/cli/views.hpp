#pragma once
#include <string>

#include "paradl/cli/command.hpp"

namespace paradl {

/// The audience of `advise`: those who train, who write the framework, or who buy the machine.
enum class View { user, framework, system };
View read_view(const std::string& word);  // UsageError

/// What to optimise first: all changes of the framework, by their gain for the best plan.
void tell_framework(const Session& session, const Options& options, const Oracle& oracle, Answer& answer);

/// What to buy: half and twice every value of the system file, each with the best plan for it.
void tell_system(const Session& session, const Options& options, const Query& query, Library& library,
                 const Oracle& oracle, Answer& answer);

}  // namespace paradl
