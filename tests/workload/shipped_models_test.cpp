// The networks in models/ have the published numbers of weights and multiply-adds.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

struct Network {
  ModelSpec spec;
  Workload work;
};

/// Each network is read once for all tests.
const Network& read_once(const std::string& name) {
  static std::map<std::string, Network> known;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  Network network{.spec = shipped().model(name), .work = {}};
  network.work = build_workload(network.spec);
  return known.emplace(name, std::move(network)).first->second;
}
const Workload& network_called(const std::string& name) { return read_once(name).work; }

TEST_CASE("every shipped model can be read, has a data set, and names its source") {
  for (const std::string& name : shipped().names(SpecKind::models)) {
    CAPTURE(name);
    const auto& [spec, work] = read_once(name);
    CHECK(spec.name == name);
    CHECK_FALSE(spec.summary.empty());
    CHECK_FALSE(spec.origin.empty());
    CHECK_FALSE(spec.dataset.empty());
    CHECK(spec.samples >= 1);
    CHECK(spec.sample > Bytes{});
    CHECK(work.layers.back().op == Op::loss);
    CHECK(work.parameters() > 0);
    CHECK(work.macs() > 0);
  }
}

TEST_CASE("all models that the manual names exist") {
  const std::vector<std::string> names = shipped().names(SpecKind::models);
  for (const std::string name : {"alexnet",       "vgg16",         "vgg19",
                                 "resnet18",      "resnet50",      "resnet101",
                                 "resnet152",     "inception-v3",  "densenet121",
                                 "mobilenet-v2",  "vit-b-16",      "bert-base",
                                 "bert-large",    "gpt2",          "gpt2-xl",
                                 "megatron-2.5b", "gpt3-175b",     "cosmoflow-512",
                                 "cosmoflow-256", "cosmoflow-128", "cosmoflow-mlperf-128"}) {
    CAPTURE(name);
    CHECK(std::ranges::binary_search(names, name));
  }
}

TEST_CASE("published counts of weights") {
  const auto check = [](const std::string& name, double published) {
    CAPTURE(name);
    CHECK(network_called(name).parameters() == published);
  };
  check("alexnet", 61'100'840);       // torchvision
  check("vgg16", 138'357'544);        // torchvision
  check("resnet50", 25'557'032);      // torchvision
  check("inception-v3", 27'161'264);  // torchvision, with the auxiliary head
  check("mobilenet-v2", 3'504'872);   // torchvision
  check("vit-b-16", 86'567'656);      // torchvision
  check("bert-base", 109'482'240);    // Hugging Face, BertModel
  check("bert-large", 335'141'888);   // Hugging Face, BertModel
  check("gpt2", 124'439'808);         // Hugging Face, GPT2LMHeadModel, tied
  check("cosmoflow-256", 2'128'064);  // the authors' COSMOFLOW.net: 2.13 M
  // Hugging Face, the released checkpoints
  check("llama2-7b", 6'738'415'616);
  check("llama2-13b", 13'015'864'320);
  check("llama2-70b", 68'976'648'192);
  check("llama3-8b", 8'030'261'248);
  check("llama3-70b", 70'553'706'496);
  check("llama3-405b", 405'853'388'800);
  check("mixtral-8x7b", 46'702'792'704);
  check("t5-small", 60'506'624);
  check("t5-base", 222'903'552);
  check("t5-large", 737'668'096);
  check("t5-3b", 2'851'598'336);
  check("t5-11b", 11'307'321'344);
  check("gpt2-medium", 354'823'168);
  check("gpt2-large", 774'030'080);
  check("vit-l-16", 304'326'632);  // torchvision
  check("vit-h-14", 632'045'800);  // torchvision
}

TEST_CASE("weights of the large networks, rounded as in their articles") {
  const auto check = [](const std::string& name, double billions, double digit) {
    CAPTURE(name);
    const double weights = network_called(name).parameters() / 1e9;
    CHECK(weights > billions - digit);
    CHECK(weights < billions + digit);
  };
  // Narayanan et al. (SC'21), table 1
  check("megatron-1.7b", 1.7, 0.05);
  check("megatron-3.6b", 3.6, 0.05);
  check("megatron-7.5b", 7.5, 0.05);
  check("megatron-18.4b", 18.4, 0.05);
  check("megatron-39.1b", 39.1, 0.05);
  check("megatron-76.1b", 76.1, 0.05);
  check("megatron-145.6b", 145.6, 0.05);
  check("megatron-310.1b", 310.1, 0.05);
  check("megatron-529.6b", 529.6, 0.05);
  check("megatron-1008b", 1008.0, 0.5);
  check("turing-nlg-530b", 530, 0.5);  // Smith et al. (2022)
  // Brown et al. (2020), table 2.1
  check("gpt3-125m", 0.125, 0.0015);
  check("gpt3-350m", 0.356, 0.001);
  check("gpt3-760m", 0.760, 0.001);
  check("gpt3-1.3b", 1.3, 0.05);
  check("gpt3-2.7b", 2.7, 0.05);
  check("gpt3-6.7b", 6.7, 0.05);
  check("gpt3-13b", 13.0, 0.2);
  check("gpt3-175b", 175, 0.5);
}

TEST_CASE("published counts of multiply-adds") {
  const auto check = [](const std::string& name, double published) {
    CAPTURE(name);
    CHECK(network_called(name).macs() == published);
  };
  check("alexnet", 714'188'480);         // torchvision "GFLOPS" 0.71
  check("resnet50", 4'089'184'256);      // torchvision 4.09
  check("vgg16", 15'470'264'320);        // torchvision 15.47
  check("inception-v3", 5'713'216'096);  // torchvision 5.71, without the auxiliary head
  check("vit-b-16", 17'563'828'224);     // torchvision 17.56, attention included
}

TEST_CASE("weights do not depend on the input size if nothing is flattened") {
  CHECK(network_called("cosmoflow-128").parameters() == network_called("cosmoflow-512").parameters());
  CHECK(network_called("gpt2-xl").parameters() - network_called("gpt2-xl:seq=512").parameters() ==
        512 * 1600);  // positions
}

TEST_CASE("a file with a base equals the base with its parameters") {
  const Workload& by_file = network_called("gpt2-xl");
  const Workload& by_numbers = network_called("gpt:layers=48,hidden=1600,heads=25,seq=1024,vocab=50257");
  CHECK(by_file.parameters() == by_numbers.parameters());
  CHECK(by_file.macs() == by_numbers.macs());
  CHECK(by_file.layers.size() == by_numbers.layers.size());
}

TEST_CASE("options of transformers: fewer heads, a gate, untied logits") {
  const std::string small = "gpt:layers=1,hidden=64,heads=4,seq=16,vocab=100";
  const double plain = network_called(small).parameters();
  // its own last product: 100 * 64
  CHECK(network_called(small + ",tied=0").parameters() - plain == 6400);
  // keys and values of one head instead of four: 2 * 3 * 16 fewer filters of 64 weights and a bias
  CHECK(plain - network_called(small + ",kv-heads=1").parameters() == 96 * 65);
  // four experts: three more MLPs of 2 * 64 * 256 weights and 320 biases, and a router of 64 * 4
  CHECK(network_called(small + ",experts=4,top-k=2").parameters() - plain == 3 * (2 * 64 * 256 + 320) + 256);
  // each token uses two of them: one more MLP, and the router
  CHECK(network_called(small + ",experts=4,top-k=2").macs() - network_called(small).macs() ==
        16 * (2 * 64 * 256 + 256));
  // a gate: 256 more filters of 64 weights and a bias
  CHECK(network_called(small + ",gated=1").parameters() - plain == 256 * 65);
}

}  // namespace

TEST_SUITE_BEGIN("reference");
namespace {

std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

/// These tests are skipped without the reference data.
bool has_data() { return !std::string(PARADL_REFERENCE_DATA).empty(); }

/// Rows of a reference table, each by column name.
std::vector<std::map<std::string, std::string>> reference(const std::string& file) {
  std::vector<std::map<std::string, std::string>> rows;
  std::ifstream in(std::string(PARADL_REFERENCE_DATA) + "/" + file);
  std::string line;
  if (!std::getline(in, line)) return rows;
  const std::vector<std::string> columns = split_line(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = split_line(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) row[columns[i]] = cells[i];
  }
  return rows;
}

// Our name -> name in the table. Networks with parameters are included.
struct Counted {
  std::string ours, theirs;
};
const std::vector<Counted> counted{
    {"alexnet", "alexnet"},
    {"vgg:early=1,late=2", "vgg11"},
    {"vgg:early=2,late=2", "vgg13"},
    {"vgg16", "vgg16"},
    {"vgg19", "vgg19"},
    {"resnet18", "resnet18"},
    {"resnet50", "resnet50"},
    {"resnet101", "resnet101"},
    {"resnet152", "resnet152"},
    {"inception-v3", "inception_v3"},
    {"densenet121", "densenet121"},
    {"mobilenet-v2", "mobilenet_v2"},
    {"vit-b-16", "vit_b_16"},
    {"vit-b-16:patch=32", "vit_b_32"},
    {"vit-b-16:layers=24,hidden=1024,heads=16,patch=32", "vit_l_32"},
    {"vit-h-14", "vit_h_14"},
    {"bert-base", "bert_base BertModel"},
    {"bert-large", "bert_large BertModel"},
    {"gpt2", "gpt2"},
    {"gpt2-medium", "gpt2_medium"},
    {"gpt2-large", "gpt2_large"},
    {"gpt2-xl", "gpt2_xl"},
    {"gpt3-1.3b", "gpt3_1.3B_shape"},
    {"gpt3-6.7b", "gpt3_6.7B_shape"},
    {"gpt3-13b", "gpt3_13B_shape"},
    {"gpt3-175b", "gpt3_175B_shape"},
    {"cosmoflow-mlperf-128", "cosmoflow_mlperf_128^3"},
};

TEST_CASE("weights and multiply-adds of each network are those of the reference") {
  if (!has_data()) return;
  std::map<std::string, std::map<std::string, std::string>> rows;
  for (auto& row : reference("reference_counts.csv")) rows[row["model"]] = row;
  REQUIRE(rows.size() > 50);
  for (const Counted& name : counted) {
    CAPTURE(name.ours);
    REQUIRE(rows.contains(name.theirs));
    const Workload& work = network_called(name.ours);
    CHECK(work.parameters() == std::stod(rows[name.theirs]["params"]));
    CHECK(work.macs() == std::stod(rows[name.theirs]["macs_total"]));
  }
}

TEST_CASE("the report's VGG16 has as many weights as the authors' network file") {
  CHECK(network_called("vgg16-226").parameters() == doctest::Approx(169.8e6).epsilon(0.001));
}

TEST_CASE("every shipped model is in the reference data, or listed here with a reason") {
  const std::set<std::string> elsewhere{
      "cosmoflow-128", "cosmoflow-256", "cosmoflow-512", "vgg16-226",          // the paper's networks
      "tiny-cnn",      "vit-l-16",      "gpt3-125m",     "gpt3-350m",          // no row
      "gpt3-760m",     "gpt3-2.7b",     "mixtral-8x7b",  "turing-nlg-530b",    // likewise
      "bert",          "gpt",           "vgg",           "resnet-bottleneck",  // templates: by numbers
      "unet"};                                       // its weights: tests/cost/beyond_core_test.cpp
  const auto family = [](const std::string& name) {  // no row, or by numbers
    return name.starts_with("megatron-") || name.starts_with("llama") || name.starts_with("t5");
  };
  for (const std::string& name : shipped().names(SpecKind::models)) {
    CAPTURE(name);
    CHECK((elsewhere.contains(name) || family(name) ||
           std::ranges::any_of(counted, [&](const Counted& each) { return each.ours == name; })));
  }
}

TEST_CASE("each convolution, product and pool has the shape and the counts of the reference data") {
  if (!has_data()) return;
  // Order and names differ between files, so they are compared as multisets.
  using Row =
      std::tuple<std::string, std::string, double, double>;  // type, shape of y, weights, multiply-adds
  const std::map<std::string, Op> types{
      {"Conv2d", Op::conv}, {"Linear", Op::fc}, {"MaxPool2d", Op::max_pool}, {"BatchNorm2d", Op::batch_norm}};
  const auto rows = reference("reference_layers.csv");
  REQUIRE_FALSE(rows.empty());
  for (const Counted& name : counted) {
    std::multiset<Row> expected, found;
    // torchvision calls two pools of Inception as functions, which are missing in its list of modules.
    const auto left_out = [&](const std::string& type) {
      return type == "MaxPool2d" && name.theirs == "inception_v3";
    };
    for (auto row : rows)
      if (row["model"] == name.theirs && types.contains(row["type"]) && !left_out(row["type"]))
        expected.emplace(row["type"], row["out_shape"], std::stod(row["params"]), std::stod(row["macs"]));
    if (expected.empty()) continue;  // the reference only has totals
    CAPTURE(name.ours);
    for (const Layer& layer : network_called(name.ours).layers) {
      const auto type =
          std::ranges::find_if(types, [&](const auto& pair) { return pair.second == layer.op; });
      if (type == types.end() || layer.auxiliary || left_out(type->first)) continue;
      std::ostringstream shape;
      shape << "1x" << layer.y.channels;
      for (int d = 0; d < layer.y.dims; ++d) shape << "x" << layer.y.extent[std::size_t(d)];
      found.emplace(type->first, shape.str(), layer.weights, layer.macs);
    }
    CHECK(found.size() == expected.size());
    for (const Row& row : expected) {
      CAPTURE(std::get<0>(row));
      CAPTURE(std::get<1>(row));
      CAPTURE(std::get<2>(row));
      CHECK(found.count(row) == expected.count(row));
    }
  }
}

}  // namespace
TEST_SUITE_END();
}  // namespace paradl
