#pragma once
#include <string>

#include "paradl/query/case.hpp"

// The sources of an answer, for footnotes.
namespace paradl {

/// Where link times come from. Some machines are only measured in part: "measured (node), specifications
/// (cluster), in". The caller appends the name of the file.
std::string links_text(const Machine& machine);
/// The same with the file: "measured, in abci.yaml".
std::string links_text(const Case& about);

/// " Framework: ddp." unless it is the ideal.
std::string framework_text(const Case& about);

}  // namespace paradl
