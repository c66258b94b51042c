#include "paradl/spec/model_spec.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

std::vector<std::string> names(const ModelSpec& spec) {
  std::vector<std::string> list;
  for (const LayerSpec& layer : spec.layers) list.push_back(layer.name);
  return list;
}

/// A network with blocks: `blocks` and `layers` are the lists as written, on an input of 4x8x8.
std::string with_blocks(const std::string& blocks, const std::string& layers) {
  return "name: test\ninput: 4x8x8\nblocks:\n" + blocks + "layers:\n" + layers;
}
/// Line 4 of the file is the first layer.
std::string on_image(const std::string& layers) { return network("4x8x8", layers); }

std::string read_manual() {
  std::ifstream in(source_dir() + "/paradl/help/models.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reading

TEST_CASE("the example of the manual is a model") {
  const std::string page = read_manual();
  const std::string fence = "```yaml\n";
  const std::size_t start = page.find(fence) + fence.size();
  const ModelSpec spec = model_of(page.substr(start, page.find("```", start) - start));
  CHECK(spec.name == "tiny");
  CHECK(spec.summary == "a three-layer network for this page");
  CHECK(spec.origin == "invented for the manual");
  CHECK(spec.input == std::vector<std::int64_t>{3, 32, 32});
  CHECK(spec.dataset == "CIFAR-10");
  CHECK(spec.samples == 50'000);
  CHECK(spec.sample == Bytes{3000});
  CHECK(spec.batch == 32);
  CHECK(spec.time == Seconds{});
  CHECK_FALSE(spec.is_template);
  CHECK(names(spec) == std::vector<std::string>{"conv1", "relu1", "pool", "fc", "loss"});
  CHECK(spec.layers[0].filters == 16);
  CHECK(spec.layers[0].kernel.given == 2);
  CHECK(spec.layers[0].padding.value[1] == 1);
  CHECK(spec.layers[0].inputs == std::vector<int>{-1});
  CHECK(spec.layers[4].inputs == std::vector<int>{3});
}

TEST_CASE("the manual lists every op, and every op it lists can be read") {
  const std::string page = read_manual();
  const std::size_t start = page.find("| op |"), end = page.find("\n\n", start);
  const std::string table = page.substr(start, end - start);
  for (const std::string& name : op_names()) {
    CAPTURE(name);
    CHECK((says(table, "| " + name + " |") || says(table, "| " + name + ",") ||
           says(table, " " + name + ",") || says(table, ", " + name + " |")));
  }
  std::size_t listed = 0;
  for (std::size_t line = 0; (line = table.find("\n| ", line)) != table.npos; ++line) {
    const std::string cell = table.substr(line + 3, table.find(" |", line + 3) - line - 3);
    if (cell.starts_with("---")) continue;
    for (std::size_t at = 0; at <= cell.size();) {
      const std::size_t comma = std::min(cell.find(", ", at), cell.size());
      CAPTURE(cell);
      CHECK(find_op(cell.substr(at, comma - at)));
      ++listed;
      at = comma + 2;
    }
  }
  CHECK(listed == op_names().size());
}

TEST_CASE("in an op's name a hyphen and an underscore are the same") {
  CHECK(find_op("max_pool") == Op::max_pool);
  CHECK(find_op("max-pool") == Op::max_pool);
  CHECK_FALSE(find_op("maxpool"));
  CHECK_FALSE(find_op(""));
  CHECK(traits(Op::loss).name == "loss");
  CHECK(is_norm(Op::rms_norm));
  CHECK_FALSE(is_norm(Op::relu));
  CHECK(is_activation(Op::sigmoid));
  CHECK_FALSE(is_activation(Op::gate));
}

TEST_CASE("every memory-bound operation states the bytes that it moves") {
  for (std::size_t op = 0; op < op_names().size(); ++op) {
    const OpTraits& row = traits(Op(op));
    CAPTURE(row.name);
    const Traffic& forward = row.moves.forward;
    const bool moves = forward.x + forward.y + forward.x_bytes + forward.y_bytes > 0;
    const bool by_kernel = row.product || row.kind == OpKind::router || row.kind == OpKind::attention;
    CHECK(moves == !(by_kernel || is_view(Op(op))));
  }
}

TEST_CASE("every key of a layer is read") {
  const ModelSpec spec =
      model_of(on_image("  - {name: a, op: conv, filters: 8, kernel: 3x5, stride: 2, padding: 1x2, dilation: "
                        "2, groups: 4, bias: false,\n"
                        "     channels: 4, auxiliary: true, time: 1.2 ms}\n"
                        "  - {name: b, op: max-pool, kernel: 2, ceil: true, padding: same}\n"
                        "  - {name: c, op: batch-norm, affine: false}\n"
                        "  - {name: d, op: loss, whole: true}\n"));
  const LayerSpec& a = spec.layers[0];
  CHECK(a.op == Op::conv);
  CHECK(a.filters == 8);
  CHECK(a.kernel.value[0] == 3);
  CHECK(a.kernel.value[1] == 5);
  CHECK(a.stride.given == 1);
  CHECK(a.stride.value[2] == 2);  // one number for all extents
  CHECK(a.padding.value[1] == 2);
  CHECK(a.dilation.value[0] == 2);
  CHECK(a.groups == 4);
  CHECK_FALSE(a.bias);
  CHECK(a.channels == 4);
  CHECK(a.auxiliary);
  CHECK(a.time->base() == paradl::test::approx(1.2e-3));
  const LayerSpec& b = spec.layers[1];
  CHECK(b.stride.value[0] == 2);  // a pool's stride is its kernel unless given
  CHECK(b.ceil);
  CHECK(b.same_padding);
  CHECK_FALSE(b.auxiliary);
  CHECK_FALSE(spec.layers[2].affine);
  CHECK(spec.layers[3].whole);
}

TEST_CASE("attention has as many key and value heads as query heads by default") {
  const ModelSpec spec =
      model_of(network("12x6",
                       "  - {name: a, op: attention, heads: 2}\n"
                       "  - {name: b, op: attention, heads: 4, kv-heads: 2, causal: true}\n"));
  CHECK(spec.layers[0].kv_heads == 2);
  CHECK(spec.layers[1].kv_heads == 2);
}

TEST_CASE("parameters may use one another in any order") {
  const ModelSpec spec = model_of(
      "name: test\n"
      "parameters: {ffn: 4*$hidden, hidden: $heads*$size, heads: 12, size: 64}\n"
      "input: 1x$size\n"
      "layers:\n"
      "  - {name: a, op: embedding, vocab: 10, filters: $hidden}\n"
      "  - {name: b, op: fc, filters: $ffn}\n");
  CHECK(spec.input[1] == 64);
  CHECK(spec.layers[0].filters == 768);
  CHECK(spec.layers[1].filters == 3072);
  CHECK(spec.parameters.at("ffn") == 3072);
}

TEST_CASE("parameters given from outside replace the file's, and what depends on them follows") {
  const std::string text =
      "name: test\n"
      "parameters: {hidden: 8, ffn: 4*$hidden}\n"
      "input: 1x4\n"
      "layers: [{name: a, op: fc, filters: $ffn}]\n";
  CHECK(model_of(text).layers[0].filters == 32);
  CHECK(model_of(text, {{"hidden", 10}}).layers[0].filters == 40);
  CHECK(model_of(text, {{"ffn", 7}}).layers[0].filters == 7);
  CHECK(complaint_about_model(text, {{"hiden", 10}}) ==
        "usage: `hiden` is not a parameter of this model\n"
        "help: did you mean `hidden`?\n");
  CHECK(complaint_about_model(text, {{"width", 10}}) ==
        "usage: `width` is not a parameter of this model\n"
        "help: it has: hidden, ffn\n");
}

TEST_CASE("a model without parameters says so") {
  CHECK(complaint_about_model(on_image("  - {name: a, op: relu}\n"), {{"width", 10}}) ==
        "usage: `width` is not a parameter of this model\n"
        "help: this model has no parameters\n");
}

TEST_CASE("parameters with circular or unknown references are mistakes") {
  const std::string out = complaint_about_model(
      "name: test\n"
      "parameters: {a: $b, b: $a, c: $nothing, d: 7/2, e: [1]}\n"
      "input: 1x4\n"
      "layers: [{name: a, op: relu}]\n");
  CHECK(mistakes(out) == 5);
  CHECK(says(out, "error: parameter `a`: there is no parameter `b`\n"));
  CHECK(says(out, "error: parameter `c`: there is no parameter `nothing`\n"));
  CHECK(says(out, "error: parameter `d`: 7 is not a multiple of 2\n"));
  CHECK(says(out, "error: parameter `e`: cannot read this number\n"));
}

TEST_CASE("two hundred parameters are refused") {
  // Each may use the others: in an unlucky order, the time grows with the third power of their number.
  std::string text = "name: test\ninput: 1x4\nlayers: [{name: a, op: relu}]\nparameters:\n";
  for (int i = 100; i < 300; ++i) text += "  p" + std::to_string(i) + ": $p" + std::to_string(i + 1) + "\n";
  CHECK_FALSE(complaint_about_model(text + "  p300: 1\n").empty());
}

// Mistakes

TEST_CASE("misspelt ops, keys and layers are shown at their place, all at once") {
  CHECK(complaint_about_model(on_image("  - {name: a, op: convv, filters: 3, kernel: 3}\n"
                                       "  - {name: b, op: conv, fliters: 3, filters: 3, kernel: 3}\n"
                                       "  - {name: conv1, op: relu}\n"
                                       "  - {name: d, op: relu, from: conv2}\n")) ==
        "error: no op is called `convv`\n"
        " --> test.yaml:4:19\n"
        "4 |   - {name: a, op: convv, filters: 3, kernel: 3}\n"
        "  |                   ^^^^^ did you mean `conv`?\n"
        "error: unknown key `fliters`\n"
        " --> test.yaml:5:25\n"
        "5 |   - {name: b, op: conv, fliters: 3, filters: 3, kernel: 3}\n"
        "  |                         ^^^^^^^ did you mean `filters`?\n"
        "error: no layer above is called `conv2`\n"
        " --> test.yaml:7:31\n"
        "7 |   - {name: d, op: relu, from: conv2}\n"
        "  |                               ^^^^^ did you mean `conv1`?\n");
}

TEST_CASE("a layer with a misspelt `op` is one mistake") {
  CHECK(complaint_about_model(on_image("  - {name: a, opp: conv, filters: 3, kernel: 3}\n"
                                       "  - {name: b, op: relu}\n")) ==
        "error: unknown key `opp`\n"
        " --> test.yaml:4:15\n"
        "4 |   - {name: a, opp: conv, filters: 3, kernel: 3}\n"
        "  |               ^^^ did you mean `op`?\n");
}

TEST_CASE("of many mistakes ten are shown") {
  std::string layers;
  for (int i = 0; i < 20; ++i) layers += "  - {name: a" + std::to_string(i) + ", op: nothing}\n";
  CHECK(mistakes(complaint_about_model(on_image(layers))) == 10);
}

TEST_CASE("missing keys of a model are reported") {
  const std::string out = complaint_about_model("summary: nothing\n");
  CHECK(mistakes(out) == 3);
  for (const std::string key : {"name", "input", "layers"})
    CHECK(says(out, "error: a model file has no `" + key + "`\n --> test.yaml:1:1\n"));
  CHECK(says(complaint_about_model("name: a\ninput: 1x4\nlayers: []\n"),
             "error: a model needs at least one layer\n"));
  for (const std::string value : {"3", "{a: b}", "conv", ""}) {
    CAPTURE(value);
    CHECK(says(complaint_about_model("name: a\ninput: 1x4\nlayers: " + value + "\n"),
               "error: layers must be a list\n"));
  }
}

TEST_CASE("missing keys of each op are reported") {
  const auto lacks = [](const std::string& op, const std::string& key) {
    CAPTURE(op);
    CAPTURE(key);
    const std::string out = complaint_about_model(on_image("  - {name: a, op: " + op + "}\n"));
    CHECK(says(out, "error: a layer has no `" + key + "`\n --> test.yaml:4:5\n"));
  };
  lacks("conv, kernel: 3", "filters");
  lacks("conv, filters: 3", "kernel");
  lacks("fc", "filters");
  lacks("embedding, filters: 3", "vocab");
  lacks("embedding, vocab: 3", "filters");
  lacks("position", "entries");
  lacks("max-pool", "kernel");
  lacks("avg-pool", "kernel");
  lacks("group-norm", "groups");
  lacks("attention", "heads");
  lacks("add", "from");
  lacks("concat", "from");
  CHECK(says(complaint_about_model(on_image("  - {op: relu}\n")), "error: a layer has no `name`\n"));
  CHECK(says(complaint_about_model(on_image("  - {name: a}\n")), "error: a layer has no `op`\n"));
}

TEST_CASE("a key of one op is not a key of another") {
  CHECK(says(complaint_about_model(on_image("  - {name: a, op: relu, kernel: 3}\n")),
             "error: unknown key `kernel`\n"));
  CHECK(says(complaint_about_model(on_image("  - {name: a, op: relu, filters: 3}\n")),
             "error: unknown key `filters`\n"));
  CHECK(says(complaint_about_model(on_image("  - {name: a, op: batch-norm, channels: 3}\n")),
             "error: unknown key `channels`\n"));
  CHECK(says(complaint_about_model(on_image("  - {name: a, op: fc, filters: 3, kernel: 3}\n")),
             "error: unknown key `kernel`\n"));
  CHECK(says(complaint_about_model(on_image("  - {name: a, op: max-pool, kernel: 3, filters: 3}\n")),
             "error: unknown key `filters`\n"));
  CHECK(says(complaint_about_model(on_image("  - {name: a, op: conv, filters: 3, kernel: 3, ceil: true}\n")),
             "error: unknown key `ceil`\n"));
}

TEST_CASE("values of the wrong type are refused") {
  const auto refused = [](const std::string& keys, const std::string& message) {
    CAPTURE(keys);
    const std::string out = complaint_about_model(on_image("  - {name: a, op: conv, " + keys + "}\n"));
    CHECK(mistakes(out) == 1);
    CHECK(says(out, message));
  };
  refused("filters: [3], kernel: 3", "`filters`: cannot read this number");
  refused("filters: {a: 3}, kernel: 3", "`filters`: cannot read this number");
  refused("filters: 3.5, kernel: 3", "`filters`: cannot read this number");
  refused("filters: 0, kernel: 3", "`filters` must be from 1 to 1000000000, not 0");
  refused("filters: -3, kernel: 3", "`filters` must be from 1 to 1000000000, not -3");
  refused("filters: 2000000000, kernel: 3", "`filters` must be from 1 to 1000000000, not 2000000000");
  refused("filters: 99999*99999, kernel: 3", "`filters`: this number is too large");
  refused("filters: 3, kernel: [3, 3]", "`kernel`: cannot read this number");
  refused("filters: 3, kernel: 3x0", "`kernel`: 0 is out of range");
  refused("filters: 3, kernel: 1x2x3x4", "`kernel`: too many extents");
  refused("filters: 3, kernel: 3, padding: -1", "`padding`: -1 is out of range");
  refused("filters: 3, kernel: 3, padding: [same]", "`padding`");
  refused("filters: 3, kernel: 3, stride: 0", "`stride`: 0 is out of range");
  refused("filters: 3, kernel: 3, bias: no", "cannot read `bias`");
  refused("filters: 3, kernel: 3, time: 1.2", "cannot read `time`");
  refused("filters: $width, kernel: 3", "`filters`: there is no parameter `width`");
}

TEST_CASE("input is channels and one to three extents") {
  const auto refused = [](const std::string& input) {
    CAPTURE(input);
    const std::string out = complaint_about_model(network(input, "  - {name: a, op: relu}\n"));
    CHECK(mistakes(out) == 1);
    CHECK(says(out, "`input`"));
  };
  for (const std::string input :
       {"3", "1x2x3x4x5", "0x8x8", "3x-8", "[3, 8, 8]", "{c: 3}", "3x2000000000", "image", "3x8y8", "''"})
    refused(input);
  for (const std::string input : {"1x1024", "3x8x8", "4x8x8x8", "3x1000000000"}) {
    CAPTURE(input);
    CHECK(complaint_about_model(network(input, "  - {name: a, op: relu}\n")).empty());
  }
}

TEST_CASE("a data set must have samples") {
  const auto with_dataset = [](const std::string& value) {
    return complaint_about_model(on_image("  - {name: a, op: relu}\n") + "dataset: " + value + "\n");
  };
  CHECK(with_dataset("{name: d, samples: 1}").empty());
  CHECK(says(with_dataset("{name: d}"), "error: `dataset` has no `samples`\n"));
  CHECK(says(with_dataset("{samples: 3}"), "error: `dataset` has no `name`\n"));
  CHECK(says(with_dataset("{name: d, samples: 0}"), "error: `samples` must be from 1 to "));
  CHECK(says(with_dataset("{name: d, samples: 3, sample: 3000}"), "write a size, such as `16 GiB`\n"));
  CHECK(says(with_dataset("ImageNet"), "error: `dataset` must be a mapping\n"));
}

TEST_CASE("batch and time at the top of a file are checked") {
  const std::string net = on_image("  - {name: a, op: relu}\n");
  CHECK(model_of(net).batch == 1);
  CHECK(model_of(net + "batch: 16\n").batch == 16);
  CHECK(model_of(net + "time: 25 ms\n").time.base() == paradl::test::approx(0.025));
  CHECK_FALSE(complaint_about_model(net + "batch: 0\n").empty());
  CHECK_FALSE(complaint_about_model(net + "time: 25\n").empty());
  CHECK_FALSE(complaint_about_model(net + "time: 0 ms\n").empty());
}

TEST_CASE("an empty file is not a model, and neither is a list or a word") {
  for (const std::string text : {"", "\n\n", "# a comment\n", "[1, 2]\n", "resnet50\n"}) {
    CAPTURE(text);
    CHECK(says(complaint_about_model(text), "error: a model file must be a mapping\n"));
  }
}

TEST_CASE("a mistake elsewhere does not make layers unknown to `split`") {
  const std::string out = complaint_about_model(
      "name: test\n"
      "name: again\n"
      "input: 4x8x8\n"
      "split: {spatial: [conv1]}\n"
      "layers: [{name: conv1, op: conv, filters: 3, kernel: 3}]\n");
  CHECK(mistakes(out) == 1);
  CHECK(says(out, "error: `name` is given twice in a model file\n"));
}

TEST_CASE("`split` lists ops and layers by strategy") {
  const std::string net =
      on_image("  - {name: conv1, op: conv, filters: 3, kernel: 3}\n  - {name: fc1, op: fc, filters: 3}\n");
  const ModelSpec spec = model_of(net + "split: {filter: [conv], spatial: conv1, channel: [fc1, conv]}\n");
  CHECK(spec.split.at("filter").words == std::vector<std::string>{"conv"});
  CHECK(spec.split.at("spatial").words == std::vector<std::string>{"conv1"});
  CHECK(spec.split.size() == 3);
  CHECK(says(complaint_about_model(net + "split: {filter: [conv9]}\n"),
             "error: `split`: no layer or op is called `conv9`\n"));
  CHECK(says(complaint_about_model(net + "split: {filtre: [conv]}\n"), "did you mean `filter`?\n"));
  CHECK(says(complaint_about_model(net + "split: {filter: []}\n"), "error: `filter` is empty\n"));
  CHECK(says(complaint_about_model(net + "split: conv\n"), "error: `split` must be a mapping\n"));
}

// Names and `from`:

TEST_CASE("a layer reads the one before it, or those that `from` names") {
  const ModelSpec spec =
      model_of(on_image("  - {name: a, op: relu}\n"
                        "  - {name: b, op: relu}\n"
                        "  - {name: c, op: relu, from: a}\n"
                        "  - {name: d, op: add, from: [c, b, in]}\n"));
  CHECK(spec.layers[1].inputs == std::vector<int>{0});
  CHECK(spec.layers[2].inputs == std::vector<int>{0});
  CHECK(spec.layers[3].inputs == std::vector<int>{2, 1, -1});
}

TEST_CASE("a layer cannot read a later layer, itself, or nothing") {
  const auto refused = [](const std::string& from) {
    CAPTURE(from);
    return complaint_about_model(
        on_image("  - {name: first, op: relu, from: " + from + "}\n  - {name: second, op: relu}\n"));
  };
  CHECK(refused("second") ==
        "error: no layer above is called `second`\n"
        " --> test.yaml:4:35\n"
        "4 |   - {name: first, op: relu, from: second}\n"
        "  |                                   ^^^^^^ a layer can read only layers above it\n");
  CHECK(says(refused("first"), "error: no layer above is called `first`\n"));
  CHECK(says(refused("[]"), "error: `from` is empty\n"));
  CHECK(says(refused("{a: b}"), "error: `from` must be a name or a list of names\n"));
}

TEST_CASE("names have valid characters and are unique") {
  const auto refused = [](const std::string& name) {
    return complaint_about_model(on_image("  - {name: a, op: relu}\n  - {name: " + name + ", op: relu}\n"));
  };
  CHECK(says(refused("a"), "error: two layers are called `a`\n --> test.yaml:5:12\n"));
  CHECK(says(refused("in"), "error: a layer cannot be called `in`\n"));
  CHECK(says(refused("a.b"), "error: a layer cannot be called `a.b`\n"));
  CHECK_FALSE(refused("''").empty());
}

TEST_CASE("very long names of layers and blocks are refused") {
  // The name of a block is repeated in each of 20 000 layers.
  const std::string name(10'000, 'a');
  CHECK_FALSE(complaint_about_model(on_image("  - {name: " + name + ", op: relu}\n")).empty());
  CHECK_FALSE(complaint_about_model(with_blocks("  b: [{name: x, op: relu}]\n",
                                                "  - {name: " + name + ", block: b, repeat: 2}\n"))
                  .empty());
}

TEST_CASE("a very long word is not printed in full") {
  const std::string word(10'000, 'a');
  for (const std::string& entry :
       {"name: " + word + ", op: relu", "name: a, op: " + word, "name: a, op: relu, from: " + word,
        "name: a, block: " + word, "name: a, op: fc, filters: $" + word}) {
    const std::string out = complaint_about_model(on_image("  - {" + entry + "}\n"));
    CHECK_FALSE(out.empty());
    CHECK(out.size() < 2000);
  }
}

TEST_CASE("tied layers name the layer whose weights they use") {
  const std::string embedding = "  - {name: table, op: embedding, vocab: 100, filters: 8}\n";
  const ModelSpec spec = model_of(
      network("1x4", embedding + "  - {name: fc, op: fc, filters: 100, bias: false, tied: table}\n"));
  CHECK(spec.layers[1].tied == 0);
  CHECK(spec.layers[0].tied == -1);
  CHECK(says(complaint_about_model(
                 network("1x4", embedding + "  - {name: fc, op: fc, filters: 100, tied: tabel}\n")),
             "error: no layer above is called `tabel`\n"));
}

TEST_CASE("weights can only be shared with a layer that has as many") {
  const auto refused = [](const std::string& filters, const std::string& tied) {
    CAPTURE(tied);
    return complaint_about_model(network("1x4",
                                         "  - {name: table, op: embedding, vocab: 100, filters: 8}\n"
                                         "  - {name: relu, op: relu}\n"
                                         "  - {name: fc, op: fc, bias: false, filters: " +
                                             filters + ", tied: " + tied + "}\n"));
  };
  CHECK(refused("100", "table").empty());       // 100 x 8 both
  CHECK_FALSE(refused("100", "relu").empty());  // has no weights
  CHECK_FALSE(refused("99", "table").empty());  // 99 x 8 against 100 x 8
  CHECK_FALSE(refused("100", "in").empty());    // not a layer
}

// Blocks

const std::string pair =
    "  pair:\n"
    "    - {name: conv, op: conv, filters: $width, kernel: 1}\n"
    "    - {name: relu, op: relu}\n";

TEST_CASE("a block is replaced by its layers, once or several times") {
  const ModelSpec spec = model_of(with_blocks(pair,
                                              "  - {name: once, block: pair, width: 8}\n"
                                              "  - {name: twice, block: pair, width: 2*8, repeat: 2}\n"
                                              "  - {name: never, block: pair, width: 3, repeat: 0}\n"
                                              "  - {name: end, op: relu}\n"));
  CHECK(names(spec) == std::vector<std::string>{"once.conv", "once.relu", "twice.0.conv", "twice.0.relu",
                                                "twice.1.conv", "twice.1.relu", "end"});
  CHECK(spec.layers[0].filters == 8);
  CHECK(spec.layers[2].filters == 16);
  for (std::size_t i = 0; i < spec.layers.size(); ++i)
    CHECK(spec.layers[i].inputs == std::vector<int>{int(i) - 1});
}

TEST_CASE("a single repetition is numbered too") {
  CHECK(names(model_of(with_blocks(pair, "  - {name: a, block: pair, width: 1, repeat: 1}\n"))).front() ==
        "a.0.conv");
}

TEST_CASE("`in` is the input of each repetition of a block, and the block's name is its output") {
  const ModelSpec spec =
      model_of(with_blocks("  residual:\n"
                           "    - {name: relu, op: relu}\n"
                           "    - {name: add, op: add, from: [relu, in]}\n",
                           "  - {name: start, op: relu}\n"
                           "  - {name: body, block: residual, repeat: 2}\n"
                           "  - {name: side, block: residual, from: start}\n"
                           "  - {name: sum, op: add, from: [body, side]}\n"));
  // start=0; body.0: relu=1 add=2; body.1: relu=3 add=4; side: relu=5 add=6; sum=7
  CHECK(spec.layers[2].inputs == std::vector<int>{1, 0});
  CHECK(spec.layers[3].inputs == std::vector<int>{2});
  CHECK(spec.layers[4].inputs == std::vector<int>{3, 2});
  CHECK(spec.layers[5].inputs == std::vector<int>{0});
  CHECK(spec.layers[6].inputs == std::vector<int>{5, 0});
  CHECK(spec.layers[7].inputs == std::vector<int>{4, 6});
}

TEST_CASE("inside a block its own names come first, then those around it") {
  const ModelSpec spec =
      model_of(with_blocks("  inner:\n"
                           "    - {name: a, op: relu}\n"
                           "    - {name: b, op: relu, from: a}\n"       // its own a
                           "    - {name: c, op: relu, from: middle}\n"  // of the block around it
                           "    - {name: d, op: relu, from: outside}\n"
                           "  outer:\n"
                           "    - {name: middle, op: relu}\n"
                           "    - {name: nested, block: inner}\n",
                           "  - {name: a, op: relu}\n"
                           "  - {name: outside, op: relu}\n"
                           "  - {name: o, block: outer}\n"));
  // a=0 outside=1 o.middle=2 o.nested.a=3 .b=4 .c=5 .d=6
  CHECK(names(spec)[3] == "o.nested.a");
  CHECK(spec.layers[4].inputs == std::vector<int>{3});
  CHECK(spec.layers[5].inputs == std::vector<int>{2});
  CHECK(spec.layers[6].inputs == std::vector<int>{1});
}

TEST_CASE("an unknown block is a mistake, in a file with blocks and in one without") {
  const std::string out = complaint_about_model(with_blocks(pair, "  - {name: a, block: pairs, width: 3}\n"));
  CHECK(says(out, "error: no block is called `pairs`\n --> test.yaml:8:22\n"));
  CHECK(says(out, "did you mean `pair`?\n"));
  CHECK(says(complaint_about_model(on_image("  - {name: a, block: pair}\n")),
             "error: no block is called `pair`\n"));
}

TEST_CASE("blocks are a mapping of lists, each given once") {
  const std::string use = "layers:\n  - {name: a, block: b}\n";
  const std::string start = "name: test\ninput: 4x8x8\n";
  CHECK_FALSE(complaint_about_model(start + "blocks: 3\n" + use).empty());
  CHECK_FALSE(complaint_about_model(start + "blocks: []\n" + use).empty());
  CHECK_FALSE(complaint_about_model(start + "blocks: {b: relu}\n" + use).empty());
  CHECK_FALSE(complaint_about_model(start + "blocks: {b: {name: r, op: relu}}\n" + use).empty());
  CHECK(says(complaint_about_model(start + "blocks: {b: []}\n" + use),
             "error: a model needs at least one layer\n"));
  CHECK_FALSE(
      complaint_about_model(start + "blocks:\n  b: [{name: r, op: relu}]\n  b: [{name: s, op: relu}]\n" + use)
          .empty());
}

TEST_CASE("a block's mistake is reported once, however often the block is used") {
  const std::string out = complaint_about_model(
      with_blocks("  bad:\n    - {name: a, op: reluu}\n",
                  "  - {name: x, block: bad, repeat: 100}\n  - {name: y, block: bad}\n"));
  CHECK(mistakes(out) == 1);
  CHECK(says(out, "did you mean `relu`?\n"));
}

TEST_CASE("the name of a block must be free, and a block has one input") {
  CHECK(says(complaint_about_model(with_blocks(pair, "  - {block: pair, width: 3}\n")),
             "error: a block entry has no `name`\n"));
  CHECK(says(complaint_about_model(
                 with_blocks(pair, "  - {name: a, op: relu}\n  - {name: a, block: pair, width: 3}\n")),
             "error: two layers are called `a`\n"));
  CHECK(says(complaint_about_model(with_blocks(
                 pair, "  - {name: a, op: relu}\n  - {name: b, block: pair, width: 3, from: [a, in]}\n")),
             "error: a block has only one input\n"));
}

TEST_CASE("a block cannot be called `in` either") {
  CHECK_FALSE(complaint_about_model(with_blocks(pair, "  - {name: in, block: pair, width: 3}\n")).empty());
}

TEST_CASE("an argument of a block is a number that the block uses") {
  const auto used = [](const std::string& keys) {
    return complaint_about_model("name: test\ninput: 4x8x8\nparameters: {width: 3}\nblocks:\n" + pair +
                                 "layers:\n  - {name: a, block: pair, " + keys + "}\n");
  };
  CHECK(used("width: 8").empty());
  CHECK(says(used("width: wide"), "error: `width`: cannot read this number\n"));
  CHECK(says(used("width: [8]"), "error: `width`: cannot read this number\n"));
  CHECK(says(used("width: 7/2"), "error: `width`: 7 is not a multiple of 2\n"));
  CHECK(says(used("repeat: -1"), "error: `repeat` must be from 0 to 20000, not -1\n"));
  CHECK(says(used("repeat: 20001"), "error: `repeat` must be from 0 to 20000, not 20001\n"));
}

TEST_CASE("a misspelt argument of a block is reported") {
  CHECK_FALSE(complaint_about_model("name: test\ninput: 4x8x8\nparameters: {width: 3}\nblocks:\n" + pair +
                                    "layers:\n  - {name: a, block: pair, widht: 8}\n")
                  .empty());
}

TEST_CASE("the arguments of a block are found without visiting every path through nested blocks") {
  // 15 levels of 8 blocks, and each block contains all 8 of the next level: 120 blocks, but 8^14 paths.
  std::string blocks;
  for (int storey = 0; storey < 15; ++storey)
    for (int i = 0; i < 8; ++i) {
      blocks += "  b" + std::to_string(storey) + "-" + std::to_string(i) + ":\n";
      for (int j = 0; j < 8; ++j)
        blocks += storey == 14 ? "    - {name: r" + std::to_string(j) + ", op: relu}\n"
                               : "    - {name: n" + std::to_string(j) + ", block: b" +
                                     std::to_string(storey + 1) + "-" + std::to_string(j) + "}\n";
    }
  CHECK(comes_to_an_end(
      [&] { complaint_about_model(with_blocks(blocks, "  - {name: q, block: b0-0, width: 3}\n")); }));
}

TEST_CASE("a block that contains itself is refused, directly or through another") {
  CHECK(says(complaint_about_model(with_blocks("  a: [{name: x, block: a}]\n", "  - {name: q, block: a}\n")),
             "check that this block does not contain itself\n"));
  CHECK(says(complaint_about_model(with_blocks("  a: [{name: x, block: b}]\n  b: [{name: x, block: a}]\n",
                                               "  - {name: q, block: a}\n")),
             "check that this block does not contain itself\n"));
  CHECK_FALSE(complaint_about_model(with_blocks("  a: [{name: x, block: a}, {name: y, block: a}]\n",
                                                "  - {name: q, block: a}\n"))
                  .empty());
  CHECK_FALSE(complaint_about_model(with_blocks("  a: [{name: x, block: a, repeat: 20000}]\n",
                                                "  - {name: q, block: a, repeat: 20000}\n"))
                  .empty());
}

TEST_CASE("blocks nest to a depth of sixteen") {
  // The deepest nesting that is accepted.
  const auto nested = [](int depth) {
    std::string blocks = "  b1: [{name: x, op: relu}]\n";
    for (int i = 2; i <= depth; ++i)
      blocks += "  b" + std::to_string(i) + ": [{name: x, block: b" + std::to_string(i - 1) + "}]\n";
    return complaint_about_model(
        with_blocks(blocks, "  - {name: q, block: b" + std::to_string(depth) + "}\n"));
  };
  CHECK(nested(16).empty());
  CHECK(says(nested(17), "error: blocks are nested too deeply\n"));
}

TEST_CASE("repetitions that multiply into millions of layers are refused") {
  const std::string twice =
      "  a: [{name: x, block: b, repeat: 20000}]\n"
      "  b: [{name: x, block: c, repeat: 20000}]\n";
  const std::string use = "  - {name: q, block: a, repeat: 20000}\n";
  SUBCASE("8 * 10^12 layers") {
    CHECK(says(complaint_about_model(with_blocks(twice + "  c: [{name: x, op: relu}]\n", use)),
               "check that no `repeat` is too large\n"));
  }
  SUBCASE("empty blocks") {
    CHECK(says(complaint_about_model(with_blocks(twice + "  c: []\n", use)),
               "check that no `repeat` is too large\n"));
  }
  SUBCASE("a few layers too many") {
    CHECK(says(complaint_about_model(with_blocks("  c: [{name: x, op: relu}, {name: y, op: relu}]\n",
                                                 "  - {name: q, block: c, repeat: 10001}\n")),
               "error: more than 20000 layers\n"));
  }
  SUBCASE("many entries that are repeated zero times, many times") {
    // 100 * 300 entries to visit, and not one layer
    std::string blocks = "  nothing: []\n  many:\n";
    for (int i = 0; i < 100; ++i)
      blocks += "    - {name: x" + std::to_string(i) + ", block: nothing, repeat: 0}\n";
    CHECK(says(complaint_about_model(
                   with_blocks(blocks, "  - {name: q, block: many, repeat: 300}\n  - {name: r, op: relu}\n")),
               "check that no `repeat` is too large\n"));
  }
}

// Files with a base

SourceText half(const std::string& name) {
  if (name == "half") return {"half.yaml", "name: half\nbase: whole\n"};
  if (name == "broken") return {"broken.yaml", "name: broken\ninput: 1x4\nlayers: [{name: a, op: reluu}]\n"};
  if (name != "whole") throw UsageError("no model is called `" + name + "`", "did you mean `whole`?");
  return {"whole.yaml",
          "name: whole\ntemplate: true\nsummary: the whole\nparameters: {width: 8, ffn: 4*$width}\ninput: "
          "1x4\nbatch: 2\n"
          "dataset: {name: d, samples: 10}\nlayers: [{name: a, op: fc, filters: $width}, {name: b, op: fc, "
          "filters: $ffn}]\n"};
}
ModelSpec from_base(const std::string& text, const Parameters& given = {}) {
  return read_model(source_of(text), half, given);
}
std::string complaint_about_base(const std::string& text, const Parameters& given = {}) {
  return complaint([&] { build_workload(from_base(text, given)); });
}

TEST_CASE("a file with a base has the layers of the base and its own parameters") {
  const ModelSpec spec = from_base("name: mine\nbase: whole\nparameters: {width: 10}\nbatch: 5\n");
  CHECK(spec.name == "mine");
  CHECK(spec.summary == "the whole");
  CHECK(spec.batch == 5);
  CHECK(spec.samples == 10);
  CHECK_FALSE(spec.is_template);
  CHECK(spec.layers[0].filters == 10);
  CHECK(spec.layers[1].filters == 40);  // ffn follows width
  REQUIRE(spec.sources.size() == 2);
  CHECK(spec.sources[0].file == "test.yaml");
  CHECK(spec.sources[1].file == "whole.yaml");
  CHECK(spec.source.file == "whole.yaml");
  CHECK(from_base("name: mine\nbase: whole\nsummary: my own\ndataset: {name: e, samples: 20}\n").samples ==
        20);
}

TEST_CASE("the command line overrides the file, and the file overrides its base") {
  const std::string text = "name: mine\nbase: whole\nparameters: {width: 10}\n";
  CHECK(from_base(text, {{"width", 20}}).layers[0].filters == 20);
  CHECK(from_base(text, {{"ffn", 20}}).layers[1].filters == 20);
  CHECK(complaint_about_base(text, {{"widths", 20}})
            .starts_with("usage: `widths` is not a parameter of this model\n"));
}

TEST_CASE("a base that does not exist, or has a base itself, is a mistake in the file") {
  CHECK(complaint_about_base("name: mine\nbase: hole\n") ==
        "error: no model is called `hole`\n"
        " --> test.yaml:2:7\n"
        "2 | base: hole\n"
        "  |       ^^^^ did you mean `whole`?\n");
  CHECK(complaint_about_base("name: mine\nbase: half\n") ==
        "error: `half` has a `base` of its own\n"
        " --> test.yaml:2:7\n"
        "2 | base: half\n"
        "  |       ^^^^ name that file instead\n");
  CHECK(says(complaint_about_base("name: mine\nbase: [whole]\n"), "error: `base` must be a single value\n"));
}

TEST_CASE("a mistake in the base is shown at its place in the base") {
  CHECK(says(complaint_about_base("name: mine\nbase: broken\n"), " --> broken.yaml:3:"));
  CHECK(
      says(complaint_about_base("name: mine\nbase: whole\nparameters: {width: 0}\n"), " --> whole.yaml:8:"));
}

TEST_CASE("a parameter that the base does not have is a mistake in the file that names it") {
  const std::string out = complaint_about_base("name: mine\nbase: whole\nparameters: {widths: 10}\n");
  CHECK(says(out, "`widths` is not a parameter of"));
  CHECK(says(out, " --> test.yaml:3:"));
  CHECK(says(out, "did you mean `width`?"));
}

TEST_CASE("mistakes in the file itself are shown at their place in it") {
  CHECK(says(complaint_about_base("name: mine\nbase: whole\nbatch: none\n"), " --> test.yaml:3:8\n"));
  CHECK(says(complaint_about_base("name: mine\nbase: whole\nbatsh: 3\n"), "did you mean `batch`?"));
  CHECK(
      says(complaint_about_base("base: whole\n"), "error: a model file has no `name`\n --> test.yaml:1:1\n"));
}

TEST_CASE("a router sends tokens to experts, and combine brings them back") {
  const auto complaint_of = [](const std::string& layers) {
    return complaint_about_model(network("1x64",
                                         "  - {name: e, op: embedding, vocab: 100, filters: 64}\n"
                                         "  - {name: r, op: router, experts: 4}\n" +
                                             layers + "  - {name: loss, op: loss}\n"));
  };
  const std::string dispatch = "  - {name: d, op: dispatch, from: [e, r], top-k: 2}\n",
                    experts = "  - {name: f, op: fc, filters: 64, experts: 4}\n",
                    combine = "  - {name: c, op: combine, from: [f, r]}\n";
  CHECK(complaint_of(dispatch + experts + combine).empty());
  CHECK(complaint_of(dispatch + "  - {name: n, op: gelu}\n" + experts + combine).empty());
  CHECK(says(complaint_of(dispatch + "  - {name: f, op: fc, filters: 64, experts: 8}\n" + combine),
             "error: layer `f` has 8 experts, but `r` chooses among 4\n --> test.yaml:7:5"));
  CHECK(says(complaint_of("  - {name: d, op: dispatch, from: [e, e], top-k: 2}\n" + experts + combine),
             "layer `d` needs two inputs: what it sends, and a router"));
  CHECK(says(complaint_of("  - {name: d, op: dispatch, from: e, top-k: 2}\n" + experts + combine),
             "layer `d` needs two inputs: what it sends, and a router"));
  CHECK(says(complaint_of(dispatch + experts + "  - {name: c, op: combine, from: [f, e]}\n"),
             "layer `c` needs two inputs: the output of experts, and their router"));
  CHECK(says(complaint_of(experts + combine), "layer `f` has experts, but no `dispatch` sends to them"));
  CHECK(says(complaint_of(dispatch + experts), "layer `loss` reads positions that `d` sent to experts"));
}

TEST_CASE("too few positions, rotary keys on the wrong layer, and a wrong value of `flash` are refused") {
  const auto complaint_of = [](const std::string& layers) {
    return complaint_about_model(
        network("1x64", "  - {name: e, op: embedding, vocab: 100, filters: 64}\n" + layers));
  };
  CHECK(says(complaint_of("  - {name: p, op: position, entries: 10}\n"),
             "layer `p` has 10 entries, but its input has 64 positions"));
  CHECK(complaint_of("  - {name: p, op: position, entries: 64}\n").empty());
  CHECK(complaint_of("  - {name: p, op: position, entries: 2, shared: true}\n").empty());
  CHECK(says(complaint_of("  - {name: r, op: rotary}\n"),
             "layer `r` rotates queries and keys, but no attention"));
  const std::string qkv = "  - {name: qkv, op: fc, filters: 192}\n";
  CHECK(complaint_of(qkv + "  - {name: r, op: rotary}\n  - {name: a, op: attention, heads: 4, flash: 1}\n")
            .empty());
  CHECK(says(complaint_of(qkv + "  - {name: a, op: attention, heads: 4, flash: 2}\n"),
             "`flash` must be from 0 to 1, not 2"));
}

TEST_CASE("a parameter outside its bounds is reported at its place") {
  CHECK(complaint_about_model("name: m\nbase: gpt\nparameters: {layers: 0}\n") ==
        "error: `layers` is 0\n --> test.yaml:3:22\n3 | parameters: {layers: 0}\n"
        "  |                      ^ it must be at least 1\n");
}

}  // namespace
}  // namespace paradl
