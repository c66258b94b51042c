#include <doctest/doctest.h>

#include "paradl/report/table.hpp"

using namespace paradl;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string of_column(Holds holds, const std::vector<double>& numbers) {
  Table table{.columns = {{"t", "t", holds}}};
  for (const double number : numbers) table.rows.push_back({{number}});
  return to_latex(table);
}

}  // namespace

TEST_CASE("latex: a tabular with a unit in each heading and notes below") {
  const Table table{.columns = {{"strategy", "strategy", Holds::text},
                                {"grid", "grid", Holds::shape},
                                {"gpus", "GPUs", Holds::count},
                                {"epoch", "epoch", Holds::seconds},
                                {"efficiency", "efficiency", Holds::share}},
                    .rows = {{{"data", "64", 64.0, 83.14, 0.883}, Emphasis::best, {}, "1"},
                             {{"filter", "64", 64.0, 13512.0, 0.01}, Emphasis::infeasible, {1}},
                             {{"layer", {}, 64.0, {}, {}}, Emphasis::infeasible, {1, 2}}},
                    .notes = {"needs more than 16 GiB", "p <= G"}};
  CHECK(to_latex(table) ==
        "% needs \\usepackage{booktabs} and \\usepackage{siunitx}\n"
        "\\begin{tabular}{r l r S[table-format=2.0] S[table-format=5.1] S[table-format=2.0] l}\n"
        "\\toprule\n"
        "  & strategy & grid & {GPUs} & {epoch (s)} & {efficiency (\\%)} &                       \\\\\n"
        "\\midrule\n"
        "1 & data     &   64 &     64 &        83.1 &                88 &                       \\\\\n"
        "x & filter   &   64 &     64 &       13500 &                 1 & \\textsuperscript{1}   \\\\\n"
        "x & layer    &   -- &     64 &        {--} &              {--} & \\textsuperscript{1,2} \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\n"
        "{\\footnotesize\\noindent\\textsuperscript{1} needs more than 16 GiB\\par}\n"
        "{\\footnotesize\\noindent\\textsuperscript{2} p $\\leq$ G\\par}\n");
}

TEST_CASE("latex: a column has one unit, chosen for most of its numbers") {
  const std::string times = of_column(Holds::seconds, {10e-6, 1.5e-3, 1.0, 2e-3, 0.0});
  CHECK(contains(times, "{t (ms)}"));
  CHECK(contains(times, "S[table-format=4.4]"));  // 1000 ms and 0.0100 ms
  CHECK(contains(times, "  0.0100 \\\\\n"));
  CHECK(contains(times, "    1.50 \\\\\n"));
  CHECK(contains(times, "    1000 \\\\\n"));
  CHECK(contains(times, "       0 \\\\\n"));

  CHECK(contains(of_column(Holds::bytes, {5.4 * 0x1p30, 512 * 0x1p20, 16 * 0x1p30}), "{t (GiB)}"));
  CHECK(contains(of_column(Holds::bytes, {5.4 * 0x1p30, 512 * 0x1p20, 16 * 0x1p30}), "   0.500 \\\\\n"));
  CHECK(contains(of_column(Holds::message, {102e6}), "{t (MB)} \\\\\n\\midrule\n     102 \\\\\n"));
  CHECK(contains(of_column(Holds::bandwidth, {12.5e9}), "{t (GB/s)} \\\\\n\\midrule\n      12.5 \\\\\n"));
  CHECK(contains(of_column(Holds::flops, {15.7e12}), "{t (Tflop/s)} \\\\\n\\midrule\n         15.7 \\\\\n"));
}

TEST_CASE("latex: columns of a kind share one unit, so that rows can be summed") {
  const Table table{.columns = {{"epoch", "epoch", Holds::seconds},
                                {"update", "update", Holds::seconds},
                                {"memory", "memory", Holds::bytes}},
                    .rows = {{{47.9, 0.355, 3.04 * 0x1p30}}, {{5920.0, {}, 16.0 * 0x1p30}}}};
  CHECK(contains(to_latex(table), "{epoch (s)} & {update (s)} & {memory (GiB)}"));
  CHECK(contains(to_latex(table), "       47.9 &        0.355 &           3.04"));
  CHECK(contains(of_column(Holds::seconds, {4e9}), "{t (s)}"));  // no days
  CHECK(contains(of_column(Holds::seconds, {4e90}), "{4.63e+85 d}"));
}

TEST_CASE("latex: numbers are rounded to three digits, counts are not") {
  CHECK(contains(of_column(Holds::rate, {9.999}), "10.0 \\\\\n"));
  CHECK(contains(of_column(Holds::rate, {20.25}), "20.3 \\\\\n"));  // a tie is rounded as in text tables
  CHECK(contains(of_column(Holds::rate, {15412}), "15400 \\\\\n"));
  CHECK(contains(of_column(Holds::count, {1281167}), "1281167 \\\\\n"));
  CHECK(contains(of_column(Holds::count, {1.128}), "1.13 \\\\\n"));
  CHECK(contains(of_column(Holds::seconds, {-11.2}), "S[table-format=-2.1]"));
}

TEST_CASE("latex: special characters are escaped") {
  const auto cell = [](const char* text) {
    const std::string latex = to_latex({.columns = {{"a", "", Holds::text}}, .rows = {{{text}}}});
    const std::string before = "\\midrule\n", after = " \\\\\n\\bottomrule";
    const auto from = latex.find(before) + before.size();
    return latex.substr(from, latex.find(after) - from);
  };
  CHECK(cell("a_b & 5 % of $1 #2") == "a\\_b \\& 5 \\% of \\$1 \\#2");
  CHECK(cell("{x}^2 ~ \\") == "\\{x\\}\\textasciicircum{}2 \\textasciitilde{} \\textbackslash{}");
  CHECK(cell("p < |w| <= 2") == "p $<$ $|$w$|$ $\\leq$ 2");
  CHECK(cell("I Σ (α + δ β) × φ") == "I $\\Sigma$ ($\\alpha$ + $\\delta$ $\\beta$) $\\times$ $\\phi$");
  CHECK(cell("[1pt]") == "{[}1pt]");  // otherwise LaTeX reads it as an argument of the \\ above
}

TEST_CASE("latex: text among numbers is hidden from siunitx") {
  const Table table{.columns = {{"t", "t", Holds::seconds}}, .rows = {{{"+ 5 %"}}}};
  CHECK(contains(to_latex(table), "{+ 5 \\%} \\\\\n"));
}
