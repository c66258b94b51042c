#include "paradl/spec/catalog.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/support/spec_text.hpp"
#include "tests/support/temporary.hpp"

namespace paradl {
namespace {
using namespace test;

const std::string one_layer = "name: mine\ninput: 1x4\nlayers: [{name: a, op: relu}]\n";

std::string refusal(const std::string& model) {
  return complaint([&] { build_workload(shipped().model(model)); });
}

TEST_CASE("a model is found by name, with `-` or `_`") {
  CHECK(shipped().model("resnet50").name == "resnet50");
  CHECK(shipped().model("inception_v3").name == "inception-v3");
  CHECK(shipped().model("inception-v3").name == "inception-v3");
  CHECK(shipped().find(SpecKind::models, "resnet50").file == source_dir() + "/models/resnet50.yaml");
}

TEST_CASE("each kind has its folder, and nested folders are not listed") {
  TemporaryFolder folder;
  folder.write("systems/a.yaml", "");
  folder.write("systems/frameworks/b.yaml", "");
  folder.write("profiles/c.yaml", "");
  folder.write("profiles/kernels/d.yaml", "");
  folder.write("profiles/accuracy/e.yaml", "");
  folder.write("frameworks/f.yaml", "");
  const Catalog catalog({folder.path()});
  const std::pair<SpecKind, const char*> kinds[] = {{SpecKind::systems, "a"},
                                                    {SpecKind::frameworks, "b"},
                                                    {SpecKind::profiles, "c"},
                                                    {SpecKind::kernels, "d"},
                                                    {SpecKind::accuracy, "e"}};
  for (const auto& [kind, name] : kinds) {
    CAPTURE(name);
    CHECK(catalog.names(kind) == std::vector<std::string>{name});
  }
  CHECK(catalog.find(SpecKind::frameworks, "b").file == folder.path() + "/systems/frameworks/b.yaml");
  CHECK(catalog.find(SpecKind::kernels, "d").file == folder.path() + "/profiles/kernels/d.yaml");
  CHECK(
      complaint([&] { catalog.find(SpecKind::systems, "b"); }).starts_with("usage: no system is called `b`"));
}

TEST_CASE("only YAML files are listed, each name once, in order") {
  TemporaryFolder here, there;
  here.write("models/b.yaml", one_layer);
  here.write("models/a.yaml", one_layer);
  here.write("models/notes.txt", "");
  there.write("models/b.yaml", one_layer);
  there.write("models/c.yaml", one_layer);
  const Catalog catalog({here.path(), there.path(), "/nowhere"});
  CHECK(catalog.names(SpecKind::models) == std::vector<std::string>{"a", "b", "c"});
  CHECK(catalog.names(SpecKind::systems).empty());
}

TEST_CASE("folders are searched in order") {
  TemporaryFolder here, there;
  here.write("models/a.yaml", one_layer + "summary: here\n");
  there.write("models/a.yaml", one_layer + "summary: there\n");
  CHECK(Catalog({here.path(), there.path()}).model("a").summary == "here");
  CHECK(Catalog({there.path(), here.path()}).model("a").summary == "there");
}

TEST_CASE("a name that contains a slash or ends in .yaml is a path") {
  TemporaryFolder folder;
  const std::string path = folder.write("mine.yaml", one_layer);
  CHECK(shipped().model(path).name == "mine");
  CHECK(complaint([&] { shipped().model(folder.path() + "/other.yaml"); }) ==
        "usage: file `" + folder.path() + "/other.yaml` does not exist\nhelp: check the path\n");
  CHECK(complaint([] {
          shipped().model("nothing.yaml");
        }).starts_with("usage: file `nothing.yaml` does not exist\n"));
}

TEST_CASE("an unknown name is a usage error, with a suggestion if a similar name exists") {
  const std::string all =
      "`paradl models` lists all " + std::to_string(shipped().names(SpecKind::models).size());
  CHECK(refusal("resnet-50") ==
        "usage: no model is called `resnet-50`\nhelp: did you mean `resnet50`? " + all + "\n");
  CHECK(refusal("perceptron") == "usage: no model is called `perceptron`\nhelp: " + all + "\n");
  CHECK(refusal("") == "usage: no model is called ``\nhelp: " + all + "\n");
  CHECK(complaint([] {
          shipped().system("abcii");
        }).starts_with("usage: no system is called `abcii`\nhelp: did you mean `abci`? "));
}

TEST_CASE("a base model is found in the same folders, by name or by path") {
  TemporaryFolder folder;
  folder.write(
      "models/wide.yaml",
      "name: wide\nparameters: {width: 3}\ninput: 1x4\nlayers: [{name: a, op: fc, filters: $width}]\n");
  folder.write("models/wider.yaml", "name: wider\nbase: wide\nparameters: {width: 30}\n");
  const ModelSpec spec = Catalog({folder.path()}).model("wider");
  CHECK(spec.name == "wider");
  CHECK(spec.layers[0].filters == 30);
  CHECK(spec.sources.size() == 2);
  CHECK(Catalog({folder.path()}).model("wider:width=40").layers[0].filters == 40);
}

TEST_CASE("a transformer is described by its parameters") {
  const ModelSpec spec = shipped().model("gpt:layers=2,hidden=64,heads=4,seq=32,vocab=1000");
  CHECK(spec.name == "gpt:layers=2,hidden=64,heads=4,seq=32,vocab=1000");
  CHECK(spec.input == std::vector<std::int64_t>{1, 32});
  CHECK(spec.parameters.at("ffn") == 256);  // 4 hidden
  const Workload work = build_workload(spec);
  // Per layer 12 h^2 + 13 h = 49 984; embedding V h + positions s h + last norm 2 h = 64 000 + 2048 + 128;
  // 2 * 49 984 + 66 176 = 166 144. The last product shares the embedding's weights.
  CHECK(work.parameters() == 166'144);
  // L (12 s h^2 + 2 s^2 h) + s h V = 2 (1 572 864 + 131 072) + 2 048 000
  CHECK(work.macs() == 5'455'872);
  CHECK(work.tokens);
  CHECK(shipped().model("gpt:kv_heads=4").parameters.at("kv-heads") == 4);  // `_` and `-` are the same
}

TEST_CASE("parameters that cannot be read are usage errors") {
  const auto refused = [](const std::string& item, const std::string& model) {
    CAPTURE(model);
    CHECK(refusal(model) == "usage: cannot read `" + item + "` in `" + model +
                                "`\nhelp: write name=number, such as layers=24\n");
  };
  refused("", "gpt:");
  refused("layers", "gpt:layers");
  refused("layers=", "gpt:layers=");
  refused("=24", "gpt:=24");
  refused("layers=two", "gpt:layers=two");
  refused("layers=-2", "gpt:layers=-2");
  refused("layers=2.5", "gpt:layers=2.5");
  refused("layers=2 ", "gpt:layers=2 ");
  CHECK(refusal("gpt:layers=1000000001") ==
        "usage: `layers=1000000001` in `gpt:layers=1000000001` is too large\nhelp: write a number "
        "up to 1000000000\n");
  refused("layers=99999999999999999999", "gpt:layers=99999999999999999999");
  refused("", "gpt:layers=2,");
  refused("", "gpt:,layers=2");
  CHECK(refusal("gpt:layers=0") ==
        "usage: `layers=0` in `gpt:layers=0` leaves no layers\nhelp: write layers=1 or more\n");
  CHECK(refusal("gpt:layers=2,layers=3") ==
        "usage: `layers` is given twice in `gpt:layers=2,layers=3`\nhelp: keep one of them\n");
  CHECK(refusal("gpt:kv-heads=2,kv_heads=3").starts_with("usage: `kv_heads` is given twice"));
}

TEST_CASE("a parameter that the model does not have is a usage error") {
  CHECK(refusal("gpt:layer=2") ==
        "usage: `layer` is not a parameter of this model\nhelp: did you mean `layers`?\n");
  CHECK(
      says(refusal("gpt:colour=2"),
           "help: it has: layers, hidden, heads, seq, vocab, ffn, kv-heads, head-size, gated, tied, experts, "
           "top-k, capacity, flash\n"));
  CHECK(refusal("gtp:layers=2").starts_with("usage: no model is called `gtp`\n"));
  CHECK(refusal("alexnet:layers=2") ==
        "usage: `layers` is not a parameter of this model\nhelp: this model has no parameters\n");
}

TEST_CASE("a parameter may also be spelt with `_` in the file") {
  TemporaryFolder folder;
  folder.write("models/wide.yaml",
               "name: wide\nparameters: {the_width: 3}\ninput: 1x4\nlayers: [{name: a, op: fc, filters: "
               "$the_width}]\n");
  for (const char* name : {"wide:the_width=5", "wide:the-width=5"})
    CHECK(Catalog({folder.path()}).model(name).layers[0].filters == 5);
}

TEST_CASE("parameters that contradict each other are a usage error that says why") {
  CHECK(complaint([] { load_model(shipped(), "gpt:heads=7"); })
            .starts_with("usage: `gpt:heads=7` is not a valid network: parameter `head-size`: 768 is not a "
                         "multiple of 7\n"
                         "help: choose values that divide evenly; see "));
  CHECK(complaint([] {
          load_model(shipped(), "resnet-bottleneck:depth1=0,depth2=0,depth3=0,depth4=20000");
        }).starts_with("usage: "));
  CHECK(says(refusal("gpt:heads=7"), "768 is not a multiple of 7"));
  CHECK(says(refusal("gpt:vocab=0"), "`vocab` is 0"));
  CHECK(says(refusal("gpt:layers=30000"), "`repeat` must be from 0 to 20000, not 30000"));
}

TEST_CASE("a system takes overrides") {
  CHECK(shipped().system("abci", {{"device.memory", "32 GiB"}}).device.memory == Bytes{32.0 * 1'073'741'824});
}

TEST_CASE("a file that cannot be read is an error") {
  TemporaryFolder folder;
  CHECK(complaint([&] { read_source(folder.path()); }) ==
        "usage: `" + folder.path() + "` is a directory, not a file\nhelp: name a file in it\n");
  CHECK(complaint([&] { read_source(folder.path() + "/none"); }).starts_with("usage: file `"));
  CHECK(read_source(folder.write("empty.yaml", "")).text.empty());
  CHECK(read_source(folder.write("text.yaml", "a: b\r\n")).text == "a: b\r\n");
}

TEST_CASE("a file that is far too large is not read as a spec") {
  TemporaryFolder folder;
  const std::string path = folder.write("large.yaml", "");
  std::filesystem::resize_file(path, (16u << 20) + 1);  // a sparse file: nothing is written
  CHECK(complaint([&] { read_source(path); }) ==
        "usage: `" + path + "` is larger than 16 MiB\nhelp: spec files are small; check the file name\n");
}

}  // namespace
}  // namespace paradl
