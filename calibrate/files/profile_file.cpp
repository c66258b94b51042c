#include "calibrate/files/profile_file.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

namespace paradl::calibrate {
namespace {

std::string difference(const ProfileSpec& old, const ProfileSpec& now) {
  if (old.device != now.device) return fmt::format("on another device ({})", old.device);
  if (old.libraries != now.libraries) return fmt::format("with other libraries ({})", old.libraries);
  if (old.precision != now.precision)
    return fmt::format("in another precision ({})", precision_names[std::size_t(old.precision)]);
  if (old.optimizer != now.optimizer)
    return fmt::format("with another optimizer ({})", optimizer_names[std::size_t(old.optimizer)]);
  return "";
}

}  // namespace

std::string plain_word(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') {  // "(R)", "(TM)"
      const std::size_t close = text.find(')', i);
      if (close != text.npos && close - i <= 3) {
        i = close;
        continue;
      }
    }
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 128 && std::isalnum(c))
      out += char(std::tolower(c));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string default_profile_name(const std::string& device, const std::string& model, Precision precision,
                                 Optimizer optimizer) {
  const std::string_view speed = "@";  // "Xeon CPU @ 2.20GHz": the clock rate does not belong to the name
  std::string out = plain_word(device.substr(0, device.find(speed)));
  out += (out.empty() ? "" : "-") + plain_word(model);
  if (precision != Precision::fp32) out += fmt::format("-{}", precision_names[std::size_t(precision)]);
  if (optimizer != Optimizer::momentum) out += fmt::format("-{}", optimizer_names[std::size_t(optimizer)]);
  return out;
}

Resumed resume(const std::optional<ProfileSpec>& old, const ProfileSpec& now,
               const std::vector<LocalLayer>& shapes, double noise) {
  Resumed out;
  if (old) out.why_not = difference(*old, now);
  if (old && out.why_not.empty()) out.kept = old->entries;
  for (const LocalLayer& shape : shapes)
    if (std::ranges::none_of(
            out.kept, [&](const ProfileSpec::Entry& e) { return e.layer == shape && e.time.noise <= noise; }))
      out.open.push_back(shape);
  return out;
}

std::vector<ProfileSpec::Entry> merged(const std::vector<ProfileSpec::Entry>& kept,
                                       const std::vector<ProfileSpec::Entry>& measured) {
  std::map<LocalLayer, PassTimes> all;
  for (const ProfileSpec::Entry& entry : kept) all[entry.layer] = entry.time;
  for (const ProfileSpec::Entry& entry : measured) {
    const auto [at, fresh] = all.try_emplace(entry.layer, entry.time);
    if (!fresh && entry.time.noise <= at->second.noise) at->second = entry.time;
  }
  std::vector<ProfileSpec::Entry> out;
  for (const auto& [layer, time] : all) out.push_back({layer, time});
  return out;
}

}  // namespace paradl::calibrate
