#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "paradl/report/answer.hpp"

namespace paradl {

/// The beginning of every answer: schema, version, command line, and the files that were used.
nlohmann::ordered_json json_header(std::string_view schema, const std::vector<std::string>& command,
                                   const std::vector<InputFile>& inputs);

/// A grid: {"data": 16, "filter": 4}.
nlohmann::ordered_json grid_json(const Mesh& mesh);

/// The whole answer as one object, schema paradl.projection/1.
std::string to_json(const Answer& answer);
/// The same for results that are JSON already.
std::string answer_json(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                        const std::string& results);
/// One result per line.
std::string to_jsonl(const Answer& answer);
/// The results of an answer that is JSON already, one per line.
std::string result_lines(const std::string& answer);
/// {"error": {...}} for stderr when a command with --json fails.
std::string error_json(const std::string& kind, const std::string& message, const std::string& help);
/// The same for the mistakes in a file, each with its place.
std::string error_json(const SpecError& error);

/// The SHA-256 of a text, in hexadecimal.
std::string sha256(const std::string& text);

}  // namespace paradl
