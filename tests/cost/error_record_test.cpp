// Intervals by hand: how they are recorded and found, and whether they contain the runs.
#include "paradl/cost/error_record.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/approx.hpp"
#include "tests/support/judged_run.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

const ParameterLevel level{.layers = LayerSource::profile,
                           .links = LinkLevel::measured,
                           .framework = "chainermn",
                           .device = "V100, 16 GB",
                           .precision = Precision::fp32,
                           .networks = NetworkKind::convolutional};

}  // namespace

TEST_CASE("recorded intervals contain 1, are wider for fewer runs, and are kept by scale") {
  std::vector<Judged> runs;
  for (const double off : {0.9, 1.0, 1.1, 0.95, 1.05}) runs.push_back(run("data", 64, off, 1.0));
  runs.push_back(run("data", 128, 1.3, 1.0));
  runs.push_back(run("data", 512, 2.0, 1.0));
  const auto errors = record_errors(runs, std::vector<ParameterLevel>(runs.size(), level));
  REQUIRE(errors.size() == 6);  // data and `any` at three scales
  CHECK(errors[0].runs == 5);
  CHECK(errors[0].least == approx(0.9));
  CHECK(errors[0].most == approx(1.1));
  // All runs are of one curve, which is little evidence: their root mean square is 7.1 %, and Student's t for
  // one degree of freedom is 6.31.
  CHECK(errors[0].high == doctest::Approx(1.565).epsilon(0.01));
  CHECK(errors[0].low == doctest::Approx(1 / errors[0].high));
  CHECK(errors[1].high >
        1.3);  // beyond the fitted scale: runs there may widen the interval, but never narrow it
  CHECK(errors[1].low <= errors[0].low);
  CHECK(errors[1].high >= errors[0].high);
  CHECK(errors[2].from == large_scale);
  CHECK(errors[2].low == errors[0].low);  // scale only adds time: the lower end stays
  CHECK(errors[2].high > 2);
  CHECK(find_recorded(errors, level, "data", 64) == &errors[0]);
  CHECK(find_recorded(errors, level, "serial", 1) == &errors[0]);  // data parallelism of one part
  CHECK(find_recorded(errors, level, "data", 256) == &errors[1]);
  CHECK(find_recorded(errors, level, "data", 1024) == &errors[2]);
  CHECK(find_recorded(errors, level, "filter", 64) == &errors[3]);  // all strategies together
  // A record applies only to its level, device, precision and kind of network, and in core.
  const auto found_if = [&](auto change) {
    ParameterLevel other = level;
    change(other);
    return find_recorded(errors, other, "data", 64) != nullptr;
  };
  CHECK(found_if([](ParameterLevel&) {}));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.layers = LayerSource::modelled; }));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.links = LinkLevel::ideal; }));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.framework = "another"; }));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.device = "another"; }));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.precision = Precision::fp16; }));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.networks = NetworkKind::transformer; }));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.changed = "another"; }));
  CHECK_FALSE(found_if([](ParameterLevel& l) { l.fidelity = Fidelity::paper; }));
  CHECK(find_recorded(errors, level, "data/ooc", 64) == nullptr);
  // A file says the same.
  const auto again = read_recorded_errors({"r.csv", recorded_text({"here", errors})});
  CHECK(again.source == "here\n");
  REQUIRE(again.errors.size() == 6);
  CHECK(again.errors[0].high == doctest::Approx(errors[0].high).epsilon(1e-3));
  CHECK(again.errors[2].from == large_scale);
  CHECK(again.errors[0].level == level);
  // It also keeps the range of these runs.
  CHECK(again.errors[0].least == approx(0.9));
  CHECK(again.errors[0].most == approx(1.1));
}

TEST_CASE(
    "intervals of an ideal framework are centred on a strategy's bias, and bounded by the error of layer "
    "times") {
  ParameterLevel ideal = level;
  ideal.framework = "ideal";
  const auto errors_of = [&](std::vector<Judged> runs) {
    return record_errors(runs, std::vector<ParameterLevel>(runs.size(), ideal));
  };
  const auto of = [](const char* strategy, const char* model, double log_ratio) {
    Judged out = run(strategy, 64, std::exp(log_ratio), 1.0);
    out.model = model;
    return out;
  };
  std::vector<Judged> runs{of("data", "a", 0.2), of("data", "b", 0.4), of("filter", "a", 1.0),
                           of("filter", "b", 1.4)};
  const auto errors = errors_of(runs);
  REQUIRE(errors.size() == 3);
  // The two curves of a strategy differ by 0.2 and 0.4: the root mean square is 0.316. Four curves less two
  // biases leave two degrees of freedom, for which Student's t is 2.92.
  const double reach = 2.92 * std::sqrt(0.1);
  CHECK(errors[0].high == approx(std::exp(0.3 + reach)));
  CHECK(errors[0].low == approx(std::exp(0.3 - reach)));
  CHECK(errors[1].high == approx(std::exp(1.2 + reach)));
  CHECK(errors[1].low == 1);  // an interval contains the projection itself
  // A third strategy may differ from these two as they differ from each other.
  CHECK(errors[2].strategy == any_strategy);
  CHECK(errors[2].high == approx(std::exp(0.75 + 6.31 * std::sqrt((1 + 0.64 + 0.49 + 1.21) / 4))));
  // No run is faster by more than the error of the layer times, ...
  for (Judged& one : runs) one.layer_error = 0.2;
  CHECK(errors_of(runs)[0].low == approx(0.8));
  for (Judged& one : runs) one.layer_error = 0;  // as with peak rates
  CHECK(errors_of(runs)[0].low == 1);
  // ... unless one was.
  runs[0].measured = Seconds{0.9};
  CHECK(errors_of(runs)[0].low == approx(0.9));
  // If there is only one curve, its runs are compared with each other.
  std::vector<Judged> one_curve{of("data", "a", 0.1), of("data", "a", 0.3)};
  CHECK(errors_of(one_curve)[0].high == approx(std::exp(0.2 + 6.31 * 0.2)));
}

TEST_CASE(
    "a query without a record takes the nearest one, widened: another precision, another device, then both") {
  const auto error = [](const char* framework, const char* device, const char* precision) {
    RecordedError out{.level = level, .strategy = "data", .runs = 3, .low = 0.8, .high = 1.5};
    out.level.framework = framework, out.level.device = device;
    out.level.precision = find_name<Precision>(precision_names, precision).value();
    return out;
  };
  const std::vector<RecordedError> errors{error("ideal", "V100", "fp32"), error("ideal", "A100", "fp16"),
                                          error("chainermn", "V100", "fp32")};
  const auto nearest = [&](const char* framework, const char* device, const char* precision) {
    return nearest_recorded(errors, error(framework, device, precision).level, 0.25);
  };
  const auto from = [&](const char* framework, const char* device, const char* precision) {
    const auto found = nearest(framework, device, precision);
    return found.empty() ? "" : found.front().level.framework + " " + found.front().level.device;
  };
  CHECK(from("ideal", "A100", "fp16") == "ideal A100");
  CHECK(nearest("ideal", "A100", "fp16").front().low == 0.8);
  CHECK(from("ideal", "A100", "fp32") == "ideal A100");  // the same device before the same precision
  CHECK(from("ideal", "H100", "fp16") == "ideal A100");
  CHECK(from("ideal", "H100", "fp8") == "ideal V100");  // the first
  CHECK(nearest("ideal", "H100", "fp8").size() == 1);   // and no other
  CHECK(from("chainermn", "H100", "fp16") == "chainermn V100");
  CHECK(from("ddp", "V100", "fp32") == "ideal V100");  // ddp has no record
  CHECK(nearest("ddp", "V100", "fp32").front().high == 1.5);
  // Independent errors add as squares do, in logarithms.
  const RecordedError wide = nearest("ideal", "H100", "fp32").front();
  CHECK(std::log(wide.high) == approx(std::hypot(std::log(1.5), std::log(1.25))));
  CHECK(std::log(wide.low) == approx(-std::hypot(std::log(0.8), std::log(0.75))));
  // An option that no run had takes the interval of runs without it, widened.
  ParameterLevel sharded = errors[0].level;
  sharded.changed = "--zero 1";
  const auto without = nearest_recorded(errors, sharded, 0.25);
  REQUIRE(without.size() == 1);
  CHECK(without.front().high == wide.high);
}

TEST_CASE(
    "every level has a nearest one: it differs in as little as possible, and never has smaller errors") {
  const auto error = [](const char* layers, const char* links, const char* framework, const char* networks,
                        const char* fidelity = "detailed") {
    RecordedError out{.level = level, .strategy = "data", .runs = 3, .low = 0.8, .high = 1.5};
    out.level.framework = framework;
    out.level.layers = find_name<LayerSource>(layer_source_names, layers).value();
    out.level.links = find_name<LinkLevel>(link_level_names, links).value();
    out.level.networks = find_name<NetworkKind>(network_kind_names, networks).value();
    out.level.fidelity = find_name<Fidelity>(fidelity_names, fidelity).value();
    return out;
  };
  const std::vector<RecordedError> errors{error("profile", "measured", "chainermn", "convolutional"),
                                          error("profile", "measured", "ideal", "convolutional"),
                                          error("modelled", "ideal", "ideal", "convolutional"),
                                          error("ideal", "ideal", "ideal", "convolutional"),
                                          error("modelled", "measured", "ideal", "transformer"),
                                          error("ideal", "ideal", "ideal", "convolutional", "paper")};
  const auto nearest = [&](const RecordedError& asked) {
    return nearest_recorded(errors, asked.level, 0.25);
  };
  const auto index = [&](const RecordedError& asked) {
    const auto found = nearest(asked);
    if (found.empty()) return -1;
    const auto at = std::ranges::find(errors, found.front().level, &RecordedError::level);
    return int(at - errors.begin());
  };
  CHECK(index(error("modelled", "measured", "chainermn", "convolutional")) == 0);  // a profile is as near
  CHECK(index(error("modelled", "ideal", "chainermn", "convolutional")) == 2);     // taken for `ideal`
  CHECK(index(error("profile", "measured", "megatron", "convolutional")) == 1);
  CHECK(index(error("ideal", "measured", "chainermn", "convolutional")) == 3);
  CHECK(index(error("profile", "measured", "chainermn", "transformer")) == 4);
  CHECK(index(error("ideal", "ideal", "ideal", "transformer")) ==
        3);  // last choice: networks of another kind
  CHECK(index(error("profile", "measured", "ideal", "other")) == 1);
  CHECK(index(error("model file", "measured", "chainermn", "convolutional")) ==
        0);  // these were measured too
  // Records of closed forms only apply to closed forms, and others do not apply to them.
  CHECK(index(error("ideal", "ideal", "ideal", "transformer", "paper")) == 5);
  CHECK(index(error("profile", "ideal", "ideal", "convolutional", "paper")) == -1);
  // Runs with smaller errors do not apply: measured links to specified ones, or other times to peak rates.
  CHECK(
      nearest_recorded({errors[1]}, error("profile", "ideal", "ideal", "convolutional").level, 0.25).empty());
  CHECK(nearest_recorded({errors[2]}, error("ideal", "ideal", "ideal", "convolutional").level, 0.25).empty());
  // A borrowed interval is wider, also if no run exceeded peak rates.
  CHECK(nearest(error("ideal", "ideal", "ideal", "transformer")).front().low == approx(0.8));
  CHECK(std::log(nearest(error("ideal", "ideal", "ideal", "transformer")).front().high) ==
        approx(std::hypot(std::log(1.5), std::log(1.39))));
  CHECK(nearest(errors[3]).front().high == 1.5);
}

TEST_CASE("intervals of closed forms are centred on a strategy's bias, at a level that the file names") {
  ParameterLevel closed = level, ideal = level;
  closed.framework = ideal.framework = "ideal";
  closed.fidelity = Fidelity::paper;
  const std::vector<Judged> runs{run("data", 64, 1.4, 1.0), run("data", 64, 1.5, 1.0),
                                 run("filter", 64, 3.0, 1.0), run("filter", 64, 0.8, 1.0)};
  const auto errors = record_errors(runs, std::vector<ParameterLevel>(runs.size(), closed));
  const auto same = record_errors(runs, std::vector<ParameterLevel>(runs.size(), ideal));
  REQUIRE(errors.size() == same.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    CHECK(errors[i].low == same[i].low);
    CHECK(errors[i].high == same[i].high);
    CHECK(errors[i].low <= 0.8);  // a run was faster
  }
  const std::string text = recorded_text({"here", errors});
  CHECK(read_recorded_errors({"r.csv", text}).errors.front().level == closed);
  CHECK(read_recorded_errors({"r.csv", recorded_text({"here", same})}).errors.front().level == ideal);
  // Both stand in one file.
  const RecordedErrors both = merged({"here", same}, errors, "there");
  CHECK(both.errors.size() == errors.size() + same.size());
  CHECK(find_recorded(both.errors, closed, "data", 8)->level.fidelity == Fidelity::paper);
}

TEST_CASE("a record with words that mean nothing is refused, and so are runs that stand there twice") {
  const std::string text = recorded_text({"",
                                          {{.level = level,
                                            .strategy = "data",
                                            .below = 65,
                                            .runs = 3,
                                            .mean_accuracy = 0.9,
                                            .low = 0.9,
                                            .high = 1.1}}});
  const std::string entry = text.substr(text.find("\nprofile,") + 1);
  const std::string header = text.substr(0, text.size() - entry.size());
  const auto read = [&](const std::string& entries) {
    return complaint([&] { read_recorded_errors({"r.csv", header + entries}); });
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string out = entry;
    return out.replace(out.find(from), from.size(), to);
  };
  const auto says = [](const std::string& out, const std::string& part) {
    return out.find(part) != std::string::npos;
  };
  CHECK(read(entry).empty());
  CHECK(says(read(changed("profile", "magic")), "`magic` is not one of model file, profile"));
  CHECK(says(read(changed("convolutional", "convolutionla")), "did you mean"));
  CHECK(says(read(entry + entry), "the same runs are already recorded above"));
  CHECK(says(read(changed(",1,65,", ",80,65,")), "`below` is 65, and `from` is 80"));
  CHECK(says(read(changed(",65,3,", ",65,2.5,")), "`runs` must be a whole number"));
  CHECK(says(read(changed(",65,3,", ",65,,")), "`runs` is empty"));
  CHECK(says(read(changed("1.100", "0.1")), "`high` must be from 1 to 1"));
  CHECK(says(read(changed("0.900", "90 %")), "cannot read `90 %` as a number"));
  CHECK(says(read("profile,measured\n"), "2 cells, but the first line names 17 columns"));
  // A file of another kind is one mistake, with how to get a record.
  const std::string other = complaint([] {
    read_recorded_errors({"r.csv", "source: |\n  here\nrecords:\n"});
  });
  CHECK(says(other, "r.csv:1:1"));
  CHECK(says(other, "column 1 of a record must be `layers`"));
  CHECK(says(other, "--record FILE.csv"));
}

TEST_CASE("a record is read as it was written, whatever its words are") {
  RecordedError error{.level = level, .strategy = "data", .runs = 3, .left_out_accuracy = 0.5};
  error.level.device = "A, \"B\" ";
  const std::string text = recorded_text({"one\ntwo\n", {error}});
  const RecordedErrors again = read_recorded_errors({"r.csv", text});
  CHECK(again.source == "one\ntwo\n");
  CHECK(again.errors.front().level == error.level);
  CHECK(again.errors.front().left_out_accuracy == 0.5);
  CHECK(again.errors.front().below == error.below);
  CHECK(recorded_text(again) == text);
}

TEST_CASE("with nine curves or more, an interval extends to the error of rank 0.9 (K + 1)") {
  const ParameterLevel level{
      .layers = LayerSource::profile, .links = LinkLevel::measured, .framework = "chainermn"};
  std::vector<Judged> runs;
  for (int i = 1; i <= 19; ++i) {
    runs.push_back(run("data", 64, 1.0 + 0.01 * (i % 2 ? i : -i), 1.0));
    runs.back().model = fmt::format("m{}", i);
  }
  runs.push_back(run("filter", 64, 3.0, 1.0));  // only one run: the interval of all strategies applies
  Judged part = run("data", 64, 9.0, 1.0);
  part.partial = true;  // its iteration was not measured
  runs.push_back(part);
  const auto errors = record_errors(runs, std::vector<ParameterLevel>(runs.size(), level));
  REQUIRE(errors.size() == 3);
  // 0.9 x 20 = 18: the second largest of 19. The largest are |ln 0.82|, |ln 0.84| and ln 1.19.
  CHECK(errors[0].runs == 19);
  CHECK(errors[0].high == approx(1 / 0.84));
  CHECK(errors[0].low == approx(0.84));
  // 0.9 x 21 = 18.9: the second largest of 20.
  CHECK(errors[1].runs == 1);
  CHECK(errors[1].high == approx(1 / 0.82));
  CHECK(errors[1].high == errors[2].high);
  // A second run of a curve shares its weight: repeating the best run changes nothing.
  runs.push_back(runs.front());
  CHECK(record_errors(runs, std::vector<ParameterLevel>(runs.size(), level))[0].high == approx(1 / 0.84));
}

TEST_CASE("intervals use projections that were fitted without the run, if these are known") {
  std::vector<Judged> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(run("data", 64, 1.0, 1.0));  // a perfect fit
  for (Judged& one : runs) one.left_out = Seconds{0.8};  // but off by a fifth without these runs
  const auto errors = record_errors(runs, std::vector<ParameterLevel>(runs.size(), level));
  CHECK(errors[0].mean_accuracy == approx(1));
  CHECK(*errors[0].left_out_accuracy == approx(0.8));
  CHECK(errors[0].high > 1.25);
  // A new record replaces the one of its level and leaves the others.
  RecordedError other = errors[0];
  other.level.framework = "ddp";
  const RecordedErrors both = merged({"old", {errors[0], other}}, errors, "new");
  CHECK(both.errors.size() == 1 + errors.size());
  CHECK(both.errors.front().level == errors[0].level);  // where it was
  CHECK(both.errors.back().level.framework == "ddp");
  CHECK(both.source == "old\nnew");
}

TEST_CASE("coverage counts runs inside intervals that were recorded without their curve") {
  std::vector<Judged> runs;
  for (const double off : {0.95, 1.0, 1.05}) runs.push_back(run("data", 64, off, 1.0));
  Judged odd = run("data", 64, 2.0, 1.0);
  odd.model = "other";
  runs.push_back(odd);
  const std::vector<ParameterLevel> levels(runs.size(), level);
  const RecordedError narrow{.level = level, .strategy = "data", .runs = 3, .low = 0.97, .high = 1.06};
  CHECK(coverage(runs, levels, {narrow}).n == 4);
  CHECK(coverage(runs, levels, {narrow}).inside == 2);  // 1.0 and 1.05
  // `other` is compared with the interval of the three close runs, and they with that of `other`, which is
  // wide enough for all of them.
  const Coverage left_out = left_out_coverage(runs, levels);
  CHECK(left_out.n == 4);
  CHECK(left_out.inside == 3);
}

}  // namespace paradl::test
