// The cost of a projection, as text and JSON.
#include "paradl/report/expense_text.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"

namespace paradl {
namespace {

std::string file_of(const Machine& machine) {
  return std::filesystem::path(machine.file).filename().string();
}

/// What is missing, and in which file.
std::vector<std::string> lacks(const Expense& expense, const Machine& machine) {
  std::vector<std::string> out;
  const std::string file = file_of(machine);
  if (!expense.price) out.push_back(fmt::format("{} has no price", file));
  if (!expense.gpu_joules) out.push_back(fmt::format("{} has no device.watts", file));
  if (!expense.host_joules) out.push_back(fmt::format("{} has no host.watts", file));
  if (!expense.network_joules) out.push_back(fmt::format("{} has no watts on its levels", file));
  return out;
}

std::string energy_text(const Expense& expense, const Machine& machine) {
  if (!expense.joules()) return fmt::format("energy unknown: {} has no device.watts", file_of(machine));
  std::vector<std::string_view> counted{"GPUs"}, left_out;
  (expense.host_joules ? counted : left_out).emplace_back("hosts");
  (expense.network_joules ? counted : left_out).emplace_back("network");
  std::string out = fmt::format("{}{} ({}", expense.at_most ? "at most " : "about ",
                                watt_hours(*expense.joules()), fmt::join(counted, ", "));
  if (!left_out.empty()) out += fmt::format("; {} unknown", fmt::join(left_out, " and "));
  return out + ")";
}

}  // namespace

std::string expense_text(const Expense& expense, const Machine& machine) {
  return fmt::format("{} GPU-hours for {}, {}, {}", three_digits(expense.gpu_hours),
                     expense.epochs == 1 ? "an epoch" : fmt::format("{} epochs", count(expense.epochs)),
                     expense.price
                         ? fmt::format("{} {}", three_digits(*expense.price), machine.price->currency)
                         : fmt::format("price unknown: {} has no price", file_of(machine)),
                     energy_text(expense, machine));
}

nlohmann::ordered_json expense_json(const Expense& expense, const Machine& machine) {
  nlohmann::ordered_json out{{"epochs", expense.epochs}};
  if (expense.joules()) out["energy_is"] = expense.at_most ? "at most" : "estimate";
  if (const auto missing = lacks(expense, machine); !missing.empty()) out["unknown"] = missing;
  return out;
}

}  // namespace paradl
