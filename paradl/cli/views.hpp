#pragma once
#include <string>

#include "paradl/cli/command.hpp"

namespace paradl {

/// For whom `advise` answers: who trains, who writes the framework, who buys the machine.
enum class View { user, framework, system };
View read_view(const std::string& word);  // UsageError

/// What to optimise first: every change of the framework, by how much faster it makes the best plan.
void tell_framework(const Session& session, const Options& options, const Oracle& oracle, Answer& answer);

/// What to buy: half and twice of everything that the system file says, each with the best plan for it.
void tell_system(const Session& session, const Options& options, const Query& query, Library& library,
                 const Oracle& oracle, Answer& answer);

}  // namespace paradl
