#pragma once
#include "calibrate/commands/bench.hpp"
#include "paradl/console/arguments.hpp"
#include "paradl/console/session.hpp"

namespace paradl::calibrate {

// One per command, in its own file: adds the subcommand and sets `action` when it is chosen.
void define_layers(const Arguments& root, Session& session, Action& action);
void define_links(const Arguments& root, Session& session, Action& action);
void define_contention(const Arguments& root, Session& session, Action& action);
void define_rehearse(const Arguments& root, Session& session, Action& action);
void define_runs(const Arguments& root, Session& session, Action& action);
void define_fit(const Arguments& root, Session& session, Action& action);
void define_all(const Arguments& root, Session& session, Action& action);

}  // namespace paradl::calibrate
