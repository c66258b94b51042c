#include "calibrate/measure/kept_samples.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "calibrate/files/replace_file.hpp"

namespace paradl::calibrate {

using Json = nlohmann::ordered_json;

Samples KeptSamples::read() const {
  std::ifstream file(path_);
  if (!file) return {};
  try {
    const Json kept = Json::parse(file);
    if (kept.at("tool") != tool_) return {};
    Samples samples;
    for (const auto& [of, times] : kept.at("samples").items())
      for (const double seconds : times.get<std::vector<double>>())
        if (seconds > 0 && std::isfinite(seconds)) samples[of].push_back(seconds);
    return samples;
  } catch (const std::exception&) {  // not what write() writes: measured anew, nothing is lost
    return {};
  }
}

void KeptSamples::write(const Samples& samples) const {
  replace_file(path_, Json{{"tool", tool_}, {"samples", samples}}.dump(1) + "\n");
}

void KeptSamples::remove() const {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Stopping resume(const StoppingRule& rule, Communicator& ranks, const std::vector<double>& samples) {
  Stopping out(rule);
  const auto first = [&](double mine) { return ranks.gather(mine).front(); };
  const auto count = std::size_t(first(double(samples.size())));
  for (std::size_t i = 0; i < count; ++i) out.restore(Seconds{first(i < samples.size() ? samples[i] : 0)});
  return out;
}

}  // namespace paradl::calibrate
