#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "paradl/report/answer.hpp"
#include "paradl/report/result_fields.hpp"

namespace paradl {

/// The beginning of every answer: schema, version, command line, and the files that were used.
nlohmann::ordered_json json_header(std::string_view schema, const std::vector<std::string>& command,
                                   const std::vector<InputFile>& inputs);

/// A grid: {"data": 16, "filter": 4}.
nlohmann::ordered_json grid_json(const Mesh& mesh);

/// One result of an answer.
nlohmann::ordered_json result_json(const Result& result);
/// The whole answer as one object, schema paradl.projection/1.
nlohmann::ordered_json to_json(const Answer& answer);
/// The same for results that are JSON already.
nlohmann::ordered_json answer_json(const std::vector<std::string>& command,
                                   const std::vector<InputFile>& inputs, nlohmann::ordered_json results);

/// The value at a path such as "time_s.epoch"; nullptr if there is none.
const nlohmann::ordered_json* find_json(const nlohmann::ordered_json& object, std::string_view path);

/// A value as it is printed, indented. Names of files can have any bytes: invalid ones are replaced.
std::string json_text(const nlohmann::ordered_json& value);
/// The `results` of an answer, one per line. An answer without them is one line.
std::string json_lines(const nlohmann::ordered_json& answer);
/// {"error": {...}} for stderr when a command with --json fails.
std::string error_json(const std::string& kind, const std::string& message, const std::string& help);
/// The same for the mistakes in a file, each with its place.
std::string error_json(const SpecError& error);

/// The SHA-256 of a text, in hexadecimal.
std::string sha256(const std::string& text);

}  // namespace paradl
