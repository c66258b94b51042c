// Limits and bottlenecks on shipped models and systems: where each fires, where it does not, and that every
// remedy brings what the oracle says when it is asked that way.
#include "paradl/feasibility/bottleneck.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/asked.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

std::vector<Bottleneck> found(const Asked& asked) {
  Examiner examiner = asked.ask->examiner();
  return examiner.bottlenecks(asked.projection);
}

const Bottleneck* find(const std::vector<Bottleneck>& all, Hindrance kind) {
  const auto it = std::ranges::find(all, kind, &Bottleneck::kind);
  return it == all.end() ? nullptr : &*it;
}

struct Wording {
  std::string model, system, words;
};

bool fires(Hindrance kind, const Wording& q) {
  return find(found(Asked(q.model, q.system, q.words)), kind) != nullptr;
}

Reading reading(std::string_view key, const Wording& q) {
  const Asked asked(q.model, q.system, q.words);
  Examiner examiner = asked.ask->examiner();
  for (const Finding& f : examiner.findings(asked.projection))
    if (f.measure->key == key && f.reading) return *f.reading;
  return {};
}

/// Where each fires, and where it does not.
struct Both {
  Hindrance kind;
  Wording there, not_there;
};

const std::vector<Both>& both() {
  static const std::vector<Both> all{
      {Hindrance::gradient_exchange,
       {"vgg16", "abci", "-s data -p 64 -b 32/gpu --framework chainermn"},
       {"resnet50", "abci", "-s data -p 64 -b 32/gpu"}},
      {Hindrance::layer_collectives,
       {"resnet50", "abci", "-s filter -p 16 -b 64"},
       {"resnet50", "abci", "-s data -p 16 -b 64/gpu"}},
      {Hindrance::point_to_point,
       {"resnet50", "abci", "--grid data=16,spatial=4 -b 64/node --framework chainermn"},
       {"resnet50", "abci", "--grid data=16,spatial=4 -b 64/node"}},
      {Hindrance::congestion,
       {"vgg16", "abci", "-s data -p 256 -b 32/gpu --framework chainermn"},
       {"vgg16", "abci", "-s data -p 64 -b 32/gpu --framework chainermn"}},
      {Hindrance::self_contention,
       {"vgg16", "abci", "--grid data=16,filter=4 -b 32/node"},
       {"vgg16", "dgx-a100", "-s data -p 64 -b 32/gpu"}},
      {Hindrance::memory_redundancy,
       {"gpt2-xl", "dgx-a100", "-s data -p 16 -b 1/gpu --optimizer adam"},
       {"resnet50", "abci", "-s data -p 64 -b 32/gpu"}},
      {Hindrance::fragmentation,
       {"resnet50", "abci", "-s data -p 4 -b 160/gpu"},
       {"resnet50", "abci", "-s data -p 4 -b 32/gpu"}},
      {Hindrance::weight_update,
       {"gpt2-xl", "dgx-a100", "-s data -p 16 -b 1/gpu --optimizer adam --precision bf16"},
       {"resnet50", "abci", "-s data -p 64 -b 32/gpu"}},
      {Hindrance::workload_balance,
       {"gpt2", "dgx-a100", "-s layer -p 4 -b 16 --micro-batches 4"},
       {"gpt2", "dgx-a100", "-s data -p 4 -b 16"}},
      {Hindrance::computation_redundancy,
       {"resnet50", "abci", "-s filter -p 64 -b 64 --framework chainermn"},
       {"resnet50", "abci", "-s data -p 64 -b 64/gpu --framework chainermn"}},
      {Hindrance::number_of_pes,
       {"resnet50", "abci", "-s filter -p 128 -b 64"},
       {"resnet50", "abci", "-s filter -p 32 -b 64"}},
      {Hindrance::batch_norm_quality,
       {"resnet50", "abci", "-s data -p 64 -b 2/gpu"},
       {"resnet50", "abci", "-s data -p 64 -b 32/gpu"}},
      {Hindrance::gpu_occupancy,
       {"resnet50", "abci", "-s data -p 64 -b 1/gpu"},
       {"resnet50", "abci", "-s data -p 64 -b 64/gpu"}},
  };
  return all;
}

/// What the command line answers when an option of a remedy is added to the question.
double epoch_of(const Wording& q, const Asked& asked, const std::string& option) {
  Typed words = typed(q.words);
  std::erase_if(words, [](const auto& word) {
    return word.first == "grid" || word.first == "strategy" || word.first == "gpus";
  });
  const int extents = std::max(1, asked.ask->work.input.dims);
  Typed all{{"strategy", asked.projection.strategy->text}};
  if (asked.projection.mesh.axes > 0) all.emplace_back("grid", exact_grid(asked.projection.mesh, extents));
  all.insert(all.end(), words.begin(), words.end());
  Options options;
  for (const Typed& list : {all, typed(option)})
    for (const auto& [key, value] : list)
      if (key == "set")
        options.add_set(value);
      else
        options.set(key, value);
  const auto again = read_ask(shipped(), options, q.model, q.system);
  auto results = again->sweep();
  rank(results);
  return results.front().epoch().base();
}

}  // namespace

TEST_CASE("each limit and bottleneck fires where it should, and only there") {
  for (const auto& [kind, there, not_there] : both()) {
    CAPTURE(entry(kind).title);
    CHECK(fires(kind, there));
    CHECK_FALSE(fires(kind, not_there));
  }
}

TEST_CASE("what a remedy brings is what the oracle answers when it is asked with its option") {
  std::set<std::string> options;
  for (const auto& [kind, q, not_there] : both()) {
    const Asked asked(q.model, q.system, q.words);
    Examiner examiner = asked.ask->examiner();
    for (Bottleneck& b : examiner.bottlenecks(asked.projection)) {
      examiner.price(b, asked.projection);
      for (const PricedAlternative& remedy : b.remedies) {
        CAPTURE(q.words);
        CAPTURE(remedy.change.option);
        CHECK(epoch_of(q, asked, remedy.change.option) == doctest::Approx(remedy.epoch.base()).epsilon(1e-9));
        if (asked.projection.cost)
          CHECK(remedy.gain == doctest::Approx(1 - remedy.epoch / asked.projection.epoch()));
        options.insert(remedy.change.option.substr(0, remedy.change.option.find_first_of(" =")));
      }
    }
  }
  // Changes of training, framework, machine, grid and strategy were all among them.
  for (const char* option : {"--zero", "--set", "-s", "-b", "--batch-norm", "--micro-batches", "--overlap"})
    CHECK_MESSAGE(options.contains(option), option);
}

TEST_CASE("a remedy makes a plan that fits better: faster, or smaller at no cost of time") {
  for (const auto& [kind, q, not_there] : both()) {
    const Asked asked(q.model, q.system, q.words);
    if (!asked.projection.feasible()) continue;
    Examiner examiner = asked.ask->examiner();
    for (Bottleneck& b : examiner.bottlenecks(asked.projection)) {
      if (b.kind == Hindrance::batch_norm_quality) continue;  // mends what no time tells
      examiner.price(b, asked.projection);
      for (const PricedAlternative& remedy : b.remedies) {
        CAPTURE(remedy.change.option);
        CHECK((remedy.gain >= 0.005 ||
               (remedy.gain > -0.005 && remedy.memory < asked.projection.cost->memory.total())));
      }
    }
  }
}

TEST_CASE("a bottleneck names its cause") {
  CHECK(reading("number-of-pes", {"resnet50", "abci", "-s filter -p 128 -b 64"}).cause == "conv1");
  CHECK(reading("self-contention", {"vgg16", "abci", "--grid data=16,filter=4 -b 32/node"})
            .cause.starts_with("node to rack"));
  CHECK(reading("weight-update", {"vgg16", "abci", "-s data -p 64 -b 32/gpu"}).cause.starts_with("fc6"));
  CHECK(reading("largest-layer", {"cosmoflow-512", "abci", "-s layer -p 4 -b 1"}).cause == "relu1");
}

TEST_CASE("four flows through two ports: twice the ports halve phi") {
  // 16 x 4 on ABCI: each of a node's four GPUs sums its quarter of the weights with those of 15 other nodes.
  const Wording q{"vgg16", "abci", "--grid data=16,filter=4 -b 32/node"};
  CHECK(reading("self-contention", q).value == doctest::Approx(2));
  const Asked asked(q.model, q.system, q.words);
  Examiner examiner = asked.ask->examiner();
  auto all = examiner.bottlenecks(asked.projection);
  for (Bottleneck& b : all) examiner.price(b, asked.projection);
  const Bottleneck* contention = find(all, Hindrance::self_contention);
  REQUIRE(contention);
  const auto ports = std::ranges::find(contention->remedies, "--set levels.rack.ports=4",
                                       [](const PricedAlternative& p) { return p.change.option; });
  REQUIRE(ports != contention->remedies.end());
  CHECK(ports->change.hands == Hands::system);
  CHECK(ports->gain > 0);
  CHECK(reading("self-contention", {q.model, q.system, q.words + " --set levels.rack.ports=4"}).value <= 1);
}

TEST_CASE("a remedy is not what is done already") {
  const auto options = [](Hindrance kind, const Wording& q) {
    const Asked asked(q.model, q.system, q.words);
    Examiner examiner = asked.ask->examiner();
    std::set<std::string> out;
    for (const Bottleneck& b : examiner.bottlenecks(asked.projection))
      if (b.kind == kind)
        for (const Alternative& change : b.changes) out.insert(change.option);
    return out;
  };
  const auto gradients = [&](const std::string& more) {
    return options(Hindrance::gradient_exchange,
                   {"vgg16", "abci", "-s data -p 64 -b 8/gpu --framework chainermn" + more});
  };
  CHECK(gradients("").contains("--overlap on"));
  CHECK_FALSE(gradients(" --overlap on").contains("--overlap on"));
  CHECK(gradients("").contains("--set framework.rings=levels"));
  CHECK_FALSE(gradients(" --set framework.rings=levels").contains("--set framework.rings=levels"));
  const auto layers = [&](const std::string& more) {
    return options(Hindrance::layer_collectives, {"resnet50", "abci", "-s filter -p 16 -b 64" + more});
  };
  CHECK(layers("").contains("--reduction reduce-scatter"));
  CHECK_FALSE(layers(" --reduction reduce-scatter").contains("--reduction reduce-scatter"));
}

TEST_CASE("triggers decide, and nothing else") {
  const Asked asked("resnet50", "abci", "-s data -p 64 -b 32/gpu");
  const Setting setting = asked.ask->setting();
  const double update = reading("weight-update", {"resnet50", "abci", "-s data -p 64 -b 32/gpu"}).value;
  for (const double trigger : {0.9 * update, 1.1 * update}) {
    Triggers triggers;
    triggers.value[std::size_t(find_measure("weight-update") - measures().data())] = trigger;
    Examiner examiner(setting, asked.ask->planner.get(), triggers);
    const auto all = examiner.bottlenecks(asked.projection);
    CHECK((find(all, Hindrance::weight_update) != nullptr) == (trigger < update));
  }
}

TEST_CASE("looking for bottlenecks leaves the planner's answers as they were") {
  const Asked asked("resnet50", "abci", "--grid data=16,spatial=4 -b 64/node --framework chainermn");
  found(asked);
  const Projection again =
      asked.ask->project(*asked.projection.strategy, asked.projection.mesh, asked.projection.batch);
  CHECK(again.iteration() == asked.projection.iteration());
}

TEST_CASE("every entry has a measure, and every measure a trigger in its range") {
  std::set<Hindrance> seen;
  std::set<std::string_view> keys;
  for (const Measure& m : measures()) {
    seen.insert(m.of);
    CHECK(keys.insert(m.key).second);
    CHECK(m.trigger >= m.least);
    CHECK(m.trigger <= m.most);
  }
  CHECK(seen.size() == hindrances);
}
