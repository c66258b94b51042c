#include "paradl/spec/system_change.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "paradl/judge/sensitivity.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;

namespace {

/// Every number of a system that a factor can change.
std::string numbers(const SystemSpec& spec) {
  std::string out = fmt::format("{} {}", spec.device.memory.base(), spec.device.memory_bandwidth.base());
  for (const auto& peak : spec.device.peak) out += fmt::format(" {}", peak ? peak->base() : -1);
  for (const LevelSpec& level : spec.levels) {
    out += fmt::format("\n{} {} {} {} {} {}", level.name, level.size, level.latency.base(),
                       level.bandwidth.base(), level.ports.value_or(-1), level.oversubscription);
    for (const MeasuredLinkSpec& link : level.measured)
      out += fmt::format(" ({} {} {})", link.from.base(), link.latency.base(), link.bandwidth.base());
  }
  const auto number = [](const auto& value) { return value ? value->base() : -1; };
  if (spec.host) out += fmt::format("\nhost {}", number(spec.host->bandwidth));
  for (const auto* storage : {&spec.node_storage, &spec.shared_storage})
    if (*storage) out += fmt::format("\nstorage {}", number((*storage)->read));
  return out;
}

}  // namespace

TEST_CASE("a factor of a loaded system gives what its file gives with that factor") {
  const Catalog& catalog = test::shipped();
  int seen = 0;
  for (const std::string& name : catalog.names(SpecKind::systems)) {
    const SystemSpec spec = catalog.system(name);
    for (const Lever& lever : levers(spec, Precision::fp32))
      for (const double factor : {0.5, 2.0}) {
        const Override change{lever.path, Factor{factor}};
        const auto quick = changed(spec, change);
        if (!quick) continue;
        CAPTURE(name);
        CAPTURE(lever.path);
        CHECK(numbers(*quick) == numbers(read_system(spec.source, {change})));
        CHECK(numbers(*quick) != numbers(spec));
        ++seen;
      }
  }
  CHECK(seen > 100);
}

TEST_CASE("a factor that leaves the range of a file is left to the reader, which refuses it") {
  const SystemSpec spec = test::shipped().system("abci");
  for (const char* path : {"device.memory", "device.memory-bandwidth", "device.peak.fp32",
                           "levels.rack.latency", "levels.rack.bandwidth", "host.bandwidth"})
    for (const double factor : {1e-300, 1e300}) {
      CAPTURE(path);
      const Override change{path, Factor{factor}};
      CHECK_FALSE(changed(spec, change));
      CHECK_THROWS_AS(read_system(spec.source, {change}), UsageError);
    }
  CHECK_THROWS_AS(read_override("device.memory", "xinf"), UsageError);
}

TEST_CASE("a number of a loaded system gives what its file gives with that number") {
  const Catalog& catalog = test::shipped();
  int seen = 0;
  for (const std::string& name : catalog.names(SpecKind::systems)) {
    const SystemSpec spec = catalog.system(name);
    for (const LevelSpec& level : spec.levels)
      for (const char* key : {"ports", "oversubscription"}) {
        const Override change{fmt::format("levels.{}.{}", level.name, key), 3.0};
        const auto quick = changed(spec, change);
        if (!quick) continue;
        CAPTURE(name);
        CAPTURE(change.path);
        CHECK(numbers(*quick) == numbers(read_system(spec.source, {change})));
        ++seen;
      }
  }
  CHECK(seen > 0);
}

TEST_CASE("other changes are left to the reader of the file") {
  const SystemSpec spec = test::shipped().system("abci");
  for (const Override& change : std::vector<Override>{{"device.memory", "32GiB"},
                                                      {"levels.node.size", Factor{0.3}},
                                                      {"levels.node.size", Factor{1e9}},
                                                      {"levels.nosuch.bandwidth", Factor{2}},
                                                      {"levels.node", Factor{2}},
                                                      {"device.peak.fp99", Factor{2}}})
    CHECK_FALSE(changed(spec, change));
}
