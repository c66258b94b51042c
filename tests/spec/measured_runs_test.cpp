// Files of measured runs: their contents, and where mistakes are reported.
#include "paradl/spec/measured_runs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "paradl/cost/cost.hpp"

namespace paradl::test {
namespace {

constexpr const char* header = "model,system,strategy,grid,gpus,batch,iteration_s,framework,compute_s\n";

std::string complaint(const std::string& text) {
  try {
    read_measured_runs({"runs.csv", text});
  } catch (const SpecError& error) {
    return render(error);
  }
  return "";
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != text.npos; }

}  // namespace

TEST_CASE("a memory size that cannot be is a mistake") {
  const auto of = [](const char* bytes) {
    return complaint(fmt::format("model,system,strategy,gpus,batch,iteration_s,memory_bytes\n"
                                 "resnet50,abci,data,16,64/gpu,0.3,{}\n", bytes));
  };
  CHECK(of("3e9") == "");
  for (const char* wrong : {"1e-308", "1e308", "0.5"}) CHECK(says(of(wrong), "write bytes, from 1 to 1e15"));
}

TEST_CASE("a run is a line; commas may be quoted, empty cells are not given, and comments are skipped") {
  const auto file = read_measured_runs(
      {"runs.csv", std::string(header) +
                       "resnet50,abci,data+filter,\"data=4,filter=4\",16,64/node,0.3,,0.1\r\n# later\n\n"});
  REQUIRE(file.runs.size() == 1);
  const MeasuredRun& run = file.runs.front();
  CHECK(run.grid == "data=4,filter=4");
  CHECK(run.gpus == 16);
  CHECK(run.iteration == Seconds{0.3});
  CHECK(run.compute == Seconds{0.1});
  CHECK(run.options.empty());
  CHECK(run.spot("gpus").line == 2);
  CHECK(run.spot("gpus").column == 45);
}

TEST_CASE("columns become options of the same name") {
  const auto file = read_measured_runs(
      {"r.csv",
       "model,system,strategy,gpus,batch,iteration_s,micro_batches,transport,px\nm,s,data,4,4,1,2,host,9\n"});
  CHECK(file.runs[0].options.at("micro-batches") == "2");
  CHECK(file.runs[0].options.at("transport") == "host");
  CHECK(file.ignored == std::vector<std::string>{"px"});
}

TEST_CASE("cells and columns may be written as other programs write them") {
  const auto file = read_measured_runs({"r.csv",
                                        "Model,System,Strategy,GPUs,Batch,iteration_s,Micro-Batches,"
                                        "precision,Sequence parallel,recompute,zero\n"
                                        "m,s,Data,4.0,64.0,1,2.0,FP16,True,No,3.0\n"});
  const MeasuredRun& run = file.runs.front();
  CHECK(file.ignored.empty());
  CHECK(run.strategy == "data");
  CHECK(run.gpus == 4);
  CHECK(run.batch == "64");
  CHECK(run.options.at("micro-batches") == "2");
  CHECK(run.options.at("precision") == "fp16");
  CHECK(run.options.at("sequence-parallel") == "on");
  CHECK(run.options.at("recompute") == "none");
  CHECK(run.options.at("zero") == "3");
}

TEST_CASE("terms may be measured separately, with or without the iteration") {
  const auto file =
      read_measured_runs({"r.csv",
                          "model,system,strategy,gpus,batch,iteration_s,gradient_exchange_s,Halo exchange_s\n"
                          "m,s,data,4,4,,0.1,\nm,s,spatial,4,4,1,,0\n"});
  CHECK(file.ignored.empty());
  CHECK_FALSE(file.runs[0].iteration);
  CHECK(file.runs[0].terms == std::map<std::string, Seconds>{{"gradient_exchange", Seconds{0.1}}});
  CHECK(file.runs[1].iteration == Seconds{1});
  CHECK(file.runs[1].terms.at("halo_exchange") == Seconds{0});
  // Every term of a projection has its column.
  for (const TermName& term : term_names) {
    const auto one = read_measured_runs(
        {"r.csv",
         fmt::format("model,system,strategy,gpus,batch,iteration_s,{}_s\nm,s,data,4,4,1,2\n", term.json)});
    CHECK(one.runs[0].terms.contains(std::string(term.json)));
  }
  CHECK(says(complaint("model,system,strategy,gpus,batch,iteration_s\nm,s,data,4,4,\n"),
             "`iteration_s` is empty"));
}

TEST_CASE("mistakes are reported with their line and a fix") {
  CHECK(says(complaint("model,system,strategy,grid,gpus,batch\nm,s,data,,4,4\n"),
             "column `iteration_s` is missing"));
  CHECK(says(complaint("model,system,strategy,grid,gpus,batch,iteration\nm,s,data,,4,4,1\n"),
             "did you mean `iteration`?"));
  const std::string fast = complaint(std::string(header) + "m,s,data,,4,4,fast,,\n");
  CHECK(says(fast, "runs.csv:2:15"));
  CHECK(says(fast, "cannot read `fast` as a number"));
  CHECK(says(complaint(std::string(header) + "m,s,data,,4,4,0,,\n"), "must be more than zero"));
  CHECK(says(complaint(std::string(header) + "m,s,data,,4,4,-1,,\n"), "must be more than zero"));
  CHECK(says(complaint(std::string(header) + "m,s,data,,2.5,4,1,,\n"), "whole number"));
  CHECK(says(complaint(std::string(header) + "m,s,data,,4,,1,,\n"), "`batch` is empty"));
  CHECK(says(complaint(std::string(header) + "m,s,data,a,b,4,4,1,,,\n"), "11 cells"));
  CHECK(says(complaint(header), "the file has no runs"));
}

TEST_CASE("a run whose times are all zero is refused") {
  const std::string columns = "model,system,strategy,grid,gpus,batch,iteration_s,halo_exchange_s\n";
  CHECK(complaint(columns + "m,s,data,,4,64,,0.1\n").empty());
  CHECK(complaint(columns + "m,s,data,,4,64,0.2,0\n").empty());
  CHECK(says(complaint(columns + "m,s,data,,4,64,,0\n"), "all times of this run are zero"));
  CHECK(says(complaint(columns + "m,s,data,,4,64,,-1\n"), "`halo_exchange_s` must be at least zero"));
}

TEST_CASE("missing quotes, and parts larger than the whole, are reported at their place") {
  const auto reported = [](const std::string& cells) {
    return complaint("model,system,strategy,grid,gpus,batch,iteration_s,compute_s,communication_s\n" + cells);
  };
  CHECK(reported("m,s,data,,4,64,1.0,0.6,0.4\n").empty());
  CHECK(reported("m,s,data,,4,64,0.2251,0.1896,0.03555\n").empty());  // published figures are rounded
  CHECK(says(reported("m,s,data,,4,64,1.0,0.8,0.4\n"), "are more than `iteration_s`"));
  const std::string open = reported("m,s,data+filter,\"data=2,filter=2,4,64,1.0,0.6,0.4\n");
  CHECK(says(open, "the closing quote is missing"));
  CHECK(says(open, "runs.csv:2:17"));
}

}  // namespace paradl::test
