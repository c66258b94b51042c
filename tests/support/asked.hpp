// Questions about the models and systems of this repository, asked as the command line asks them.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "paradl/cli/ask.hpp"
#include "paradl/feasibility/advice.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {

/// Options by their names: {"gpus", "64"}; "set" may be repeated.
using Typed = std::vector<std::pair<std::string, std::string>>;

/// "--zero 1 --set levels.rack.ports=4 -b 64" as options.
inline Typed typed(const std::string& words) {
  Typed out;
  std::string key;
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t end = std::min(words.find(' ', start), words.size());
    const std::string word = words.substr(start, end - start);
    start = end + 1;
    if (key.empty()) {
      key = word == "-b" ? "batch" : word == "-p" ? "gpus" : word == "-s" ? "strategy" : word.substr(2);
    } else {
      out.emplace_back(key, word);
      key.clear();
    }
  }
  return out;
}

/// A model, a system and one projection: the best answer to the question.
struct Asked {
  std::unique_ptr<Ask> ask;
  Projection projection;

  Asked(const std::string& model, const std::string& system, const std::string& words) {
    Options options;
    for (const auto& [key, value] : typed(words))
      if (key == "set")
        options.add_set(value);
      else
        options.set(key, value);
    ask = read_ask(shipped(), options, model, system);
    auto results = ask->sweep();
    rank(results);
    projection = results.front();
  }
};

}  // namespace paradl::test
