#pragma once
#include "paradl/query/case.hpp"

// The parts of `load`, each in a file of its own.
namespace paradl {

/// Options without effect are mistakes, and so are options that contradict each other. UsageError.
void check_conflicts(const Query& query, const Case& about);

/// Finds the requested layer times, or the best available ones: measured, modelled, ideal. Sets `times` and
/// `profile_spec`.
void find_layer_times(const Query& query, Library& library, Case& about);

/// The first change that makes a query differ from all measured runs, which had unchanged files. Empty: none.
std::string changed_by(const Query& query, const Case& about);

}  // namespace paradl
