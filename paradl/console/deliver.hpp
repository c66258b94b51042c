#pragma once
#include <string>
#include <vector>

#include "paradl/console/files.hpp"
#include "paradl/console/options.hpp"
#include "paradl/console/session.hpp"
#include "paradl/report/formats.hpp"

namespace paradl {

/// The files of an answer besides those of -o.
struct AnswerFiles {
  std::vector<std::string> read = {};  // what it was made from, which nothing may overwrite
  std::vector<NewText> more = {};      // drawings and records, written together with those of -o
};

/// Writes an answer to every -o (format by its ending), then prints it in the format of -f. UsageError,
/// before anything is written, if a file would be written twice or was read.
void deliver(const Session& session, const Options& options, const Output& output,
             const AnswerFiles& files = {});
/// Only prints it: -o has another meaning in this command.
void print_answer(const Session& session, const Options& options, const Output& output);

/// Refuses what `deliver` would refuse, before a long run. UsageError or EnvironmentError.
void check_delivery(const Options& options, const std::vector<std::string>& read);

}  // namespace paradl
