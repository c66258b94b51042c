#pragma once
#include <functional>
#include <string>

#include "paradl/console/options.hpp"
#include "paradl/console/session.hpp"
#include "paradl/report/formats.hpp"

namespace paradl {

/// Writes an answer to every -o (format by its ending), then prints it in the format of -f.
void deliver(const Session& session, const Options& options, const Output& output);
/// Refuses what `deliver` would refuse (-f and -o), before a long run. UsageError or EnvironmentError.
void check_delivery(const Options& options, bool draws = false);

/// The same for an answer that prints each format itself, by its name.
using Render = std::function<std::string(const std::string& format, Style style)>;
void deliver(const Session& session, const Options& options, const Render& render);
/// A table in a format for tables; UsageError for other formats.
std::string render_table(const std::string& format, const Table& table);

}  // namespace paradl
