#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// The vocabulary as a framework pads it for the parts of `tensor`; 0 if it is not padded.
double padded_words(const Workload& work, const FrameworkTerms& framework, const Mesh& mesh);
/// Number of parts of `tensor` that hold the same key and value heads; 1 if each has its own.
double kv_copies(const Workload& work, const Mesh& mesh);

/// What exchanges overlap with: "the backward pass"; "both passes" for the rings of keys and values and for
/// gathered weights (ZeRO 3). Empty if nothing overlaps.
std::string_view hides_behind(std::span<const Projection> projections, const Workload& work);

/// Sizes that do not divide evenly, and how they are handled: "vocabulary padded to 51200 words, ...", "...
/// each head is on 2 of them", "stages cannot have equal numbers of blocks ...".
std::vector<std::string> plan_notes(const Setting& setting, const Plan& plan);
/// The same for several projections, a line for each note with the projections it applies to: "data+tensor
/// 8x8: vocabulary padded to ...".
std::string plan_notes_text(const Setting& setting, std::span<const Projection> projections);

}  // namespace paradl
