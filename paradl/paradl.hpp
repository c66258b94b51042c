#pragma once
// Everything that a program needs to ask: load a case, evaluate and search plans, read the ledger and the
// verdict.
//
//   paradl::Catalog catalog;                                   // finds models/ and systems/
//   paradl::Case c = load({.model = "gpt3-175b", .system = "dgx-a100", .framework = "megatron"}, catalog);
//   paradl::Evaluator evaluate(c);
//   paradl::Plan plan =
//       paradl::parse_plan("data=16,layer=8,tensor=8 micro-batches=96 schedule=1f1b zero=1", c);
//   paradl::Cost cost = evaluate.cost(plan);
#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/ledger.hpp"
#include "paradl/plan/plan.hpp"
#include "paradl/query/case.hpp"
#include "paradl/query/oracle.hpp"
#include "paradl/query/plan_text.hpp"
#include "paradl/query/query.hpp"
#include "paradl/query/verdict.hpp"
#include "paradl/search/walk.hpp"
#include "paradl/spec/catalog.hpp"
