#include "paradl/report/explanation.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "paradl/judge/exchange_lines.hpp"
#include "paradl/judge/plan_notes.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/asked.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Explained {
  Bench bench;
  Projection projection;
  Explained(Workload work, Machine machine, const char* name, const char* grid, double batch,
            const Training& training = without_overlap(), const Plan& options = {})
      : bench(std::move(work), std::move(machine), training, options),
        projection(bench.engine(name, grid, batch)) {
    projection.plan.mesh = without_ones(projection.plan.mesh);
  }
  Evaluation evaluation() const { return bench.evaluator->evaluate(projection.plan); }
  std::vector<ExchangeLine> lines() const { return exchange_lines(evaluation()); }
  Explanation explained(bool layers = false) const { return explain(projection, evaluation(), layers); }
  Table table() const { return exchange_table(projection, explained()); }
  Table layers() const { return layer_table(explained(true)); }
};

Seconds sum_of(const std::vector<ExchangeLine>& lines, const std::string& what) {
  Seconds sum;
  for (const ExchangeLine& line : lines)
    if (line.what.starts_with(what)) sum += line.count * line.each;
  return sum;
}

}  // namespace

TEST_CASE("explain: an allreduce over two levels is shown level by level, as in its formula") {
  // 2 * 576 weights of 4 B: 4608 B. Nodes of 4 on 10 us and 10 GB/s; 2 of them on 40 us and 12.5 GB/s, where
  // the 4 GPUs of a node share 2 ports.
  Explained e(chain(2), two_level_machine(), "data", "8", 32);
  const auto lines = e.lines();
  REQUIRE(lines.size() == 1);
  REQUIRE(lines[0].steps.size() == 2);
  const ExchangeStep &node = lines[0].steps[0], &nodes = lines[0].steps[1];
  CHECK(node.p == 4);
  CHECK(node.bytes.base() == 4608);
  CHECK(node.time.base() == paradl::test::approx(6 * (10e-6 + 1152 * 1e-10)));
  CHECK(nodes.p == 2);
  CHECK(nodes.bytes.base() == 1152);
  CHECK(nodes.phi == 2);
  CHECK(nodes.time.base() == paradl::test::approx(2 * (40e-6 + 576 * 2 * 80e-12)));
  CHECK(lines[0].each.base() == paradl::test::approx((*e.projection.cost)[Term::gradient_exchange].base()));
  const std::string text = to_text(e.table()).text;
  CHECK(contains(text, "the sum of\n"));
  CHECK(contains(text, "in nodes"));
  CHECK(contains(text, "2(p-1)(α + m/p φ β)\n"));
}

TEST_CASE("explain: a few bytes between many nodes are summed by trees") {
  Explained e(chain(2), two_level_machine(), "data", "16", 32);
  const auto lines = e.lines();
  REQUIRE(lines.size() == 1);
  REQUIRE(lines[0].steps.size() == 2);
  const ExchangeStep& nodes = lines[0].steps[1];
  CHECK(nodes.p == 4);
  CHECK(nodes.bytes.base() == 1152);
  CHECK(nodes.time.base() == paradl::test::approx(4 * (40e-6 + 1152 * 2 * 80e-12)));
  CHECK(lines[0].each.base() == paradl::test::approx((*e.projection.cost)[Term::gradient_exchange].base()));
  CHECK(contains(to_text(e.table()).text, "2⌈log2 p⌉(α + m φ β) between nodes"));
}

TEST_CASE("explain: listed exchanges sum to the terms") {
  for (const char* grid : {"4x4", "4x8", "2x2"}) {
    CAPTURE(grid);
    Explained e(chain(3), two_level_machine(), "data+spatial", grid, 32);
    CHECK(sum_of(e.lines(), "halo").base() ==
          paradl::test::approx((*e.projection.cost)[Term::halo_exchange].base()));
    CHECK(sum_of(e.lines(), "allreduce dw").base() ==
          paradl::test::approx((*e.projection.cost)[Term::gradient_exchange].base()));
  }
  Explained filter(chain(3), two_level_machine(), "data+filter", "4x8", 32);
  CHECK((sum_of(filter.lines(), "allgather y") + sum_of(filter.lines(), "allreduce dy")).base() ==
        paradl::test::approx((*filter.projection.cost)[Term::activation_exchange].base()));
}

TEST_CASE("explain: a halo has bytes") {
  // 16x16 cut into two along one extent: one row of 16 positions, 8 channels, 32 samples, 4 B.
  Explained e(chain(1), flat_machine(), "spatial", "2", 32);
  bool found = false;
  for (const ExchangeLine& line : e.lines())
    if (line.what.starts_with("halo of x")) {
      found = true;
      CHECK(line.bytes.base() == 16 * 8 * 32 * 4);
      CHECK(line.count == 1);
    }
  CHECK(found);
}

TEST_CASE("explain: only text has bars, and a layer without weights has no gradient") {
  Explained e(work_of("  - {name: conv, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}\n"
                      "  - {name: act, op: relu}\n"),
              flat_machine(), "data", "4", 32);
  const Table terms = term_table(e.explained(), e.projection);
  CHECK_FALSE(contains(to_csv(terms), "#"));
  CHECK(contains(to_text(with_bars(terms)).text, "##"));
  CHECK_FALSE(contains(to_csv(terms), "below"));
  const std::string layers =
      to_text(e.layers()).text;
  CHECK_FALSE(contains(layers, "0 TB"));
  CHECK_FALSE(contains(layers, "0 B"));
}

TEST_CASE("explain: JSON has the layers on request") {
  Explained e(chain(2), flat_machine(), "data+filter", "4x2", 32);
  const Setting setting = e.bench.setting();
  Answer answer;
  answer.setting = &setting;
  answer.results = {e.projection};
  using Json = nlohmann::json;
  CHECK_FALSE(explanation_json(answer, {e.explained()})["results"][0].contains("layers"));
  const Json result = explanation_json(answer, {e.explained(true)})["results"][0];
  REQUIRE(result["layers"].size() == 2);
  const Json& first = result["layers"][0];
  CHECK(first["name"] == "conv0");
  CHECK(first["op"] == "conv");
  CHECK(first["roles"] == Json{{"data", "data"}, {"filter", "filter"}});
  CHECK(first["gradient_bytes"] == 576 * 4 / 2);
  double exchanged = 0;
  for (const Json& exchange : first["exchanges"])
    exchanged += exchange["count"].get<double>() * exchange["each_s"].get<double>();
  CHECK(exchanged > 0);
  CHECK(exchanged == paradl::test::approx(first["exchange_s"].get<double>()));
}

TEST_CASE("explain: where flows share ports, and how many ports would avoid it") {
  // The talk's example on ABCI: four filter groups leave each node at once, through two ports.
  const Machine abci = build_machine(shipped().system("abci"));
  Explained hybrid(chain(2), abci, "data+filter", "16x4", 64);
  CHECK(contention_text(hybrid.lines()) ==
        " φ = 2 on rack, allreduce dw over data: 4 flows leave a node through 2 ports; 4 ports would give "
        "φ = 1\n");
  Explained inside(chain(2), abci, "filter", "4", 64);
  CHECK(contention_text(inside.lines()).empty());
  const Plan hd{.allreduce = {find_algorithm("hd")}};
  Explained asked(chain(2), abci, "data+filter", "16x4", 64, without_overlap(), hd);
  const std::string text = contention_text(asked.lines());
  CAPTURE(text);
  CHECK(contains(text,
                 " φ = 2 on rack, hd dw over data: flows share the port from node 0 to rack 0; 4 ports per "
                 "node would give φ = 1\n"));
}

TEST_CASE("explain: on a topology, the limiting step and wire") {
  Machine torus = flat_machine(16);
  torus.topology = "torus:4,4";
  const Plan hd{.allreduce = {find_algorithm("hd")}};
  Explained e(chain(2), torus, "data", "16", 64, without_overlap(), hd);
  const std::string text = contention_text(e.lines());
  CAPTURE(text);
  CHECK(contains(text, " φ = 2 on all, step 2 of 8, hd dw over data: flows share the wire from host "));
  CHECK(contains(text, "; 2 such wires would give φ = 1\n"));

  const Setting setting = e.bench.setting();
  Answer answer;
  answer.setting = &setting;
  answer.results = {e.projection};
  using Json = nlohmann::json;
  const Json result = explanation_json(answer, {e.explained()})["results"][0];
  CHECK(result["parameters"]["allreduce"] == "hd");
  CHECK(result["parameters"]["allreduce_fidelity"] == "link-load");
  const Json& exchange = result["exchanges"][0];
  CHECK(exchange["fidelity"] == "link-load");
  const Json& step = exchange["steps"][0];
  CHECK(step["phi"] == paradl::test::approx(2));
  CHECK(step["worst_step"] == 2);
  CHECK(step["step_count"] == 8);
  CHECK(step["ports"] == 1);
  CHECK(step["ports_for_phi_1"] == 2);
  CHECK(step["link"].get<std::string>().starts_with("host "));
}

TEST_CASE("explain: nodes on a topology share their ports") {
  // Four nodes of four GPUs on a crossbar, a port each: rings between the nodes share it. A flow alone would
  // have the 10 GB/s of its GPU; four of them on a port of 12.5 GB/s make phi = 4 * 10/12.5.
  Machine machine = two_level_machine();
  machine.levels[1].gpus = 16;
  machine.levels[1].ports = 1;
  machine.topology = "crossbar:4";
  Explained e(chain(2), machine, "data", "16", 64);
  const std::string text = contention_text(e.lines());
  CAPTURE(text);
  CHECK(
      contains(text, " φ = 3.2 on nodes, allreduce dw over data: flows share the port from port 0 of node "));
  CHECK(contains(text, "; 4 ports per node would give φ = 1\n"));
}

TEST_CASE("explain: the paper's letters are those of its formulas") {
  Training ceil = without_overlap();
  ceil.ceil_iterations = true;
  Bench bench(chain(2), two_level_machine(), ceil);
  const auto explained = [&](const char* strategy, const char* grid) {
    const Projection p = bench.paper(strategy, grid, 48);
    const Explanation explanation = explain_paper(bench.setting(), p);
    return to_text(term_table(explanation, p)).text + symbols_text(bench.setting(), p, explanation);
  };
  // 1000 samples in batches of 48: 20.8, rounded up
  CHECK(contains(explained("data", "16"), "I = ⌈D/B⌉ = 21 iterations"));
  CHECK_FALSE(contains(explained("data", "16"), "φ"));
  CHECK_FALSE(contains(explained("filter", "4"), "p2"));
  CHECK_FALSE(contains(explained("spatial", "2"), "p1"));
  CHECK(contains(explained("data+filter", "4x4"), "φ = 2"));
  CHECK(contains(explained("data+filter", "4x4"), "p1 = 4   p2 = 4"));
  for (const char* strategy : {"data", "spatial", "layer", "filter", "channel"})
    CHECK_FALSE(contains(explained(strategy, "2"), "Section"));
  bench.times.update_known = false;
  CHECK(contains(explained("data", "16"), "update times are unknown"));
  CHECK_FALSE(contains(explained("data", "16"), "Σ WU"));
}

TEST_CASE("explain: layers sum to their terms, also where iterations are rounded up") {
  for (const bool rounded : {false, true}) {
    Training t = without_overlap();
    t.ceil_iterations = rounded;
    // 20.8 iterations, or 21
    Explained e(chain(3), two_level_machine(), "data", "4", 48, t, {.micro_batches = 2});
    const Table table = e.layers();
    for (const Term term : {Term::forward, Term::backward, Term::update}) {
      const auto name = term_names[std::size_t(term)].json;
      const auto column = std::ranges::find(table.columns, name, &Column::id) - table.columns.begin();
      REQUIRE(column < std::ssize(table.columns));
      double sum = 0;
      for (const Row& row : table.rows) sum += std::get<double>(row.values[std::size_t(column)]);
      CAPTURE(name);
      CAPTURE(rounded);
      CHECK(sum == approx((*e.projection.cost)[term].base()));
    }
  }
}

TEST_CASE("explain: blocks that do not divide evenly into stages are reported with the nearest numbers") {
  const Workload work = build_workload(shipped().model("gpt:layers=8,hidden=64,heads=4,seq=32,vocab=512"));
  const auto notes = [&](const char* grid, int chunks, StageCut cut) {
    Training t = without_overlap();
    t.stage_cut = cut;
    Plan options;
    if (chunks > 1)
      options = {.micro_batches = 12, .schedule = PipelineSchedule::interleaved, .chunks = chunks};
    Explained e(work, flat_machine(), "layer", grid, 24, t, options);
    return plan_notes(e.bench.setting(), e.projection.plan);
  };
  CHECK(notes("3", 1, StageCut::equal_blocks) ==
        std::vector<std::string>{
            "stages cannot have equal numbers of blocks (3 stages must divide the 8 blocks; "
            "nearest: 2 or 4); they are balanced by time"});
  CHECK(notes("3", 2, StageCut::equal_blocks) ==
        std::vector<std::string>{
            "stages cannot have equal numbers of blocks (3 stages must divide the 4 blocks of a "
            "chunk; nearest: 2 or 4); they are balanced by time"});
  CHECK(notes("4", 1, StageCut::equal_blocks).empty());
  CHECK(notes("3", 1, StageCut::balanced).empty());
  Training equal = without_overlap();
  equal.stage_cut = StageCut::equal_blocks;
  Explained none(work_of("  - {name: a, op: conv, filters: 8, kernel: 3}\n"
                         "  - {name: b, op: conv, filters: 4, kernel: 1}\n"),
                 flat_machine(), "layer", "2", 8, equal);
  CHECK(plan_notes(none.bench.setting(), none.projection.plan)
            .front()
            .find("the network has no repeated blocks") != std::string::npos);
}

TEST_CASE("explain: every role has its own name") {
  const auto roles = [](const char* strategy, const char* grid) {
    Explained e(build_workload(shipped().model("gpt:layers=2,hidden=64,heads=4,seq=32,vocab=128,experts=4")),
                flat_machine(), strategy, grid, 8);
    std::string out;
    for (const Row& row : e.layers().rows)
      out += std::get<std::string>(row.values[0]) + "=" + std::get<std::string>(row.values[2]) + "\n";
    return out;
  };
  CHECK(says(roles("layer", "2"), "layer.0.qkv=stage\n"));
  const std::string experts = roles("data+expert", "2x4");
  CHECK(says(experts, "layer.0.moe.0.fc1=data,expert\n"));
  CHECK(says(experts, "layer.0.qkv=data,data\n"));
  const std::string tensor = roles("tensor", "2");
  CHECK(says(tensor, "layer.0.qkv=filter\n"));
  CHECK(says(tensor, "layer.0.proj=channel\n"));
  CHECK(says(tensor, "layer.0.attention=keep\n"));
}

TEST_CASE("explain: the ring of context parallelism is an exchange with an exposed and a hidden part") {
  for (const bool overlap : {false, true}) {
    Training t;
    t.overlap = overlap;
    Explained e(build_workload(shipped().model("gpt:layers=2,hidden=64,heads=4,seq=32,vocab=128")),
                flat_machine(), "context", "4", 8, t);
    // Forward p-1 = 3 times the 32/4 positions of 2 * 64 channels of 8 samples, 4 B each; backward twice
    // that.
    const auto lines = e.lines();
    const double block = 8.0 * 8 * 2 * 64 * 4, alpha = 10e-6, beta = 1e-10;
    CHECK(sum_of(lines, "ring of keys and values").base() ==
          paradl::test::approx(2 * 3 * (alpha + block * beta)));
    CHECK(sum_of(lines, "ring").base() == paradl::test::approx(2 * 3 * (2 * alpha + 3 * block * beta)));
    const Cost& cost = *e.projection.cost;
    Seconds all;
    for (const ExchangeLine& line : lines) all += line.count * line.each;
    if (!overlap) CHECK(all.base() == paradl::test::approx(cost.communication().base()));
    if (!overlap) CHECK(cost.hidden == Seconds{});
  }
}

namespace {

/// The time of all lines that are messages, and the communication of the projection.
void check_wires(const Asked& asked, const char* repeated, double passes) {
  const Projection& shown = asked.projection;
  const Evaluation evaluation = asked.oracle.evaluator().evaluate(shown.plan);
  Seconds all;
  double forward = 0;
  for (const ExchangeLine& line : exchange_lines(evaluation)) {
    all += line.count * line.each;
    if (line.what == repeated) forward += line.count;
  }
  CHECK(all.base() == paradl::test::approx(shown.cost->communication().base()));
  CHECK(forward == paradl::test::approx(passes));
  const std::string table = to_text(exchange_table(shown, explain(shown, evaluation, false))).text;
  CHECK_FALSE(contains(table, "framework"));
}

}  // namespace

TEST_CASE("explain: exchanges of a recomputed forward pass are listed with it, not with the framework") {
  const std::string plain = "--overlap off --links ideal --layer-times ideal ";
  const std::string full = plain + "--recompute full ";
  // Two products of each of 12 blocks sum y; the last product of the network is not in a block.
  const Asked once("gpt2", "dgx-a100", plain + "--grid tensor=4 -b 8");
  const Asked twice("gpt2", "dgx-a100", full + "--grid tensor=4 -b 8");
  const auto sums = [](const Asked& asked) {
    double count = 0;
    for (const Cell& cell : asked.oracle.evaluator().evaluate(asked.projection.plan).layout->cells)
      for (const Exchange& e : cell.forward)
        if (e.operation == Collective::allreduce) count += cell.count * (cell.recomputed ? 2 : 1);
    return count;
  };
  REQUIRE(sums(twice) > sums(once));
  check_wires(once, "allreduce y", sums(once));
  check_wires(twice, "allreduce y", sums(twice));
  // A ring of 3 rounds in each of 12 blocks, twice; and for each of 2 micro-batches.
  check_wires(Asked("gpt2", "dgx-a100", full + "--grid context=4 -b 8"), "ring of keys and values", 2 * 36);
  check_wires(Asked("gpt2", "dgx-a100", full + "--grid context=4 -b 8 --micro-batches 2"),
              "ring of keys and values", 4 * 36);
}

TEST_CASE("explain: exchanges of blocks recomputed out of core are listed with them") {
  const Asked asked("resnet50", "abci",
                    "--overlap off --links ideal -s data+filter/ooc --grid data=1,filter=4 -b 1024 "
                    "--set host.bandwidth=100MB/s");
  REQUIRE(asked.projection.out_of_core);
  REQUIRE(asked.projection.out_of_core->recomputed > 0);
  double again = 0;
  const Layout& layout = *asked.oracle.evaluator().evaluate(asked.projection.plan).layout;
  for (std::size_t i = 0; i < layout.cells.size(); ++i)
    for (const Exchange& e : layout.cells[i].forward)
      if (e.operation == Collective::allgather)
        again += layout.cells[i].count + asked.projection.out_of_core->again[i];
  check_wires(asked, "allgather y", again);
}

TEST_CASE("explain: weights that are gathered tensor by tensor are gathered again for recomputation") {
  const auto gathers = [](const std::string& words) {
    const Asked asked("gpt2", "dgx-a100", "--grid data=8 -b 8 --framework megatron --zero 3" + words);
    Bytes once, again;
    const Evaluation e = asked.oracle.evaluator().evaluate(asked.projection.plan);
    for (const ExchangeLine& line : exchange_lines(e)) {
      if (line.what == "allgather w") once += line.bytes;
      if (line.what == "allgather w again") again += line.bytes;
    }
    return again / once;
  };
  CHECK(gathers("") == 0);
  CHECK(gathers(" --recompute full") > 0.6);  // all except the embedding
  CHECK(gathers(" --recompute full") < 1);
}

TEST_CASE("explain: without overlap nothing is hidden, not even a rounding error") {
  const Asked asked("gpt2", "dgx-a100", "--grid data=2,layer=4 -b 64 --overlap off --micro-batches 4");
  REQUIRE(asked.projection.cost);
  CHECK(asked.projection.cost->hidden == Seconds{});
  CHECK(hides_behind({&asked.projection, 1}, asked.oracle.about().work).empty());
}

TEST_CASE(
    "explain: gradient exchanges overlap with the backward pass; rings and gathered weights with both "
    "passes") {
  const auto behind = [](const std::string& words) {
    const Asked asked("gpt2", "dgx-a100", words);
    return std::string(hides_behind({&asked.projection, 1}, asked.oracle.about().work));
  };
  CHECK(behind("--grid data=8 -b 64") == "the backward pass");
  CHECK(behind("--grid data=8 -b 64 --zero 3") == "both passes");
  CHECK(behind("--grid context=8 -b 64") == "both passes");
}
