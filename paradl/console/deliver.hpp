#pragma once
#include <functional>
#include <string>

#include "paradl/console/options.hpp"
#include "paradl/console/session.hpp"

namespace paradl {

/// An answer in one format. UsageError for a format it does not know.
using Render = std::function<std::string(const std::string& format, Style style)>;
/// A table as markdown, csv or latex; UsageError for other formats.
std::string render_table(const std::string& format, const Table& table);

/// Writes what was rendered to every -o (format by its extension), then prints the format asked for.
void deliver(const Session& session, const Options& options, const Render& render);
/// What it would refuse (-f and -o), refused before a long run. UsageError or EnvironmentError.
void check_delivery(const Options& options);

}  // namespace paradl
