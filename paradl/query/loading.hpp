#pragma once
#include "paradl/query/case.hpp"

// The parts of `load`, each in a file of its own.
namespace paradl {

/// Options without effect are mistakes, and so are options that contradict each other. UsageError.
void check_conflicts(const Query& query, const Case& about);

/// The layer times that were asked for, or the best there are: measured, modelled, ideal. Sets `times` and
/// `profile_spec`.
void find_layer_times(const Query& query, Library& library, Case& about);

/// What makes a query one that no measured run was an answer to: runs are those of files as they are. Empty:
/// nothing.
std::string changed_by(const Query& query, const Case& about);

}  // namespace paradl
