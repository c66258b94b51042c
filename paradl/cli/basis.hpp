#pragma once
#include <string>

#include "paradl/query/case.hpp"

// On what an answer rests, for footnotes.
namespace paradl {

/// Where link times come from, some machines being measured in part: "measured (node), specifications
/// (cluster), in"; a file's name follows.
std::string links_text(const Machine& machine);
/// The same with the file: "measured, in abci.yaml".
std::string links_text(const Case& about);

/// " Framework: ddp." unless it is the ideal.
std::string framework_text(const Case& about);

}  // namespace paradl
