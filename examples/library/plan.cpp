// One plan on one screen: how long an iteration takes, whether it fits, and what it is made of.
#include <fmt/format.h>

#include <paradl/paradl.hpp>

int main() {
  paradl::Catalog catalog;  // finds models/ and systems/
  paradl::Case c = load({.model = "gpt3-175b", .system = "dgx-a100", .framework = "megatron"}, catalog);
  paradl::Evaluator evaluate(c);
  paradl::Plan plan =
      paradl::parse_plan("data=16,layer=8,tensor=8 batch=1536 micro-batches=96 schedule=1f1b zero=1", c);
  paradl::Cost cost = evaluate.cost(plan);
  fmt::print("{:.2f} s, {:.1f} GiB\n", cost.iteration().seconds(), cost.memory.total().gib());
  for (const paradl::Charge& charge : evaluate.ledger(plan)) fmt::print("{}\n", charge);
}
