// A case owns its data, and an oracle answers questions about it.
#include "paradl/query/oracle.hpp"

#include <doctest/doctest.h>

#include "tests/support/asked.hpp"

namespace paradl::test {

TEST_CASE("a file is read once, however many queries refer to it") {
  Library library(shipped());
  const SystemSpec* system = &library.system("abci");
  const auto* model = &library.model("resnet50");
  const FrameworkSpec* framework = &library.framework("chainermn");
  load(query_of("resnet50", "abci", "--framework chainermn"), library);
  load(query_of("resnet50", "abci", "--framework chainermn --set device.memory=32GiB"), library);
  CHECK(&library.system("abci") == system);
  CHECK(&library.model("resnet50") == model);
  CHECK(&library.framework("chainermn") == framework);
  CHECK(system->device.memory < library.system("abci", {{"device.memory", Factor{2}}}).device.memory);
  CHECK(library.system("abci", {{"device.memory", Factor{2}}}).device.kernels.has_value());
}

TEST_CASE("a case is a value: a copy gives the same answers, even after the original is destroyed") {
  const Query query = query_of("resnet50", "abci", "-s data,data+filter -p 16 --framework chainermn");
  Library library(shipped());
  auto original = std::make_unique<Case>(load(query, library));
  const Question question = question_of(query, *original);
  const auto seconds = [](const Oracle& oracle) {
    std::vector<double> out;
    for (const Projection& p : oracle.sweep()) out.push_back(p.iteration().base());
    return out;
  };
  const auto before = seconds(Oracle(*original, question));
  const Case copy = *original;
  original.reset();
  CHECK(seconds(Oracle(copy, question)) == before);
  CHECK(before.size() == 2);
}

TEST_CASE("an oracle answers several questions about the same case") {
  const Oracle one = ask(query_of("resnet50", "abci", "-s data -p 16 -b 512"), shipped());
  Question other = one.question();
  other.gpus = {64};
  const Oracle two = one.asked(other);
  CHECK(&two.about() == &one.about());
  const Oracle fresh = ask(query_of("resnet50", "abci", "-s data -p 64 -b 512"), shipped());
  CHECK(two.sweep().front().iteration() == fresh.sweep().front().iteration());
  CHECK(one.sweep().front().gpus == 16);
}

TEST_CASE("with all grids there are more answers, which include the best of each strategy") {
  const Oracle oracle = ask(query_of("resnet50", "abci", "-s data+filter -p 16 -b 512"), shipped());
  const Projection best = oracle.sweep().front();
  const auto all = oracle.every_grid();
  CHECK(all.size() == 3);  // 2x8, 4x4, 8x2
  CHECK(std::ranges::any_of(all, [&](const Projection& p) { return p.iteration() == best.iteration(); }));
}

TEST_CASE("grids that are skipped for their lower bound are never the best") {
  for (const auto& [model, system, words] :
       {std::tuple{"resnet50", "abci", "-s data+layer,data+layer+tensor -p 64 -b 2048"},
        {"resnet50", "abci", "-s data+layer -p 64 -b 8192 --micro-batches 16 --schedule 1f1b"},
        {"gpt2", "selene", "-s data+layer,layer+tensor,data+layer+tensor -p 32 -b 256 --micro-batches 8"},
        {"gpt3-175b", "selene",
         "-s data+layer+tensor -p 512 -b 512 --micro-batches 32 --framework megatron"}}) {
    CAPTURE(model);
    CAPTURE(words);
    const Oracle oracle = ask(query_of(model, system, words), shipped());
    const auto all = oracle.every_grid();
    for (const Projection& best : oracle.sweep())
      for (const Projection& one : all)
        if (one.strategy() == best.strategy()) CHECK_FALSE(better(one, best));
  }
}

TEST_CASE("without named strategies, out of core is the first answer if nothing else is faster") {
  const auto best = [](const std::string& words) {
    const Oracle oracle = ask(query_of("resnet50", "abci", words), shipped());
    return oracle.ranked().front().strategy();
  };
  CHECK(best("-p 4 -b 128") == "data");
  CHECK(best("-p 4 -b 512/gpu").ends_with("/ooc"));
  CHECK(best("-p 4 -b 512/gpu -s data") == "data");
}

}  // namespace paradl::test
