// Questions about the models and systems of this repository.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "paradl/judge/advice.hpp"
#include "paradl/query/examiner.hpp"
#include "paradl/query/fields.hpp"
#include "paradl/query/oracle.hpp"
#include "paradl/query/words.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {

/// Fields of a query by their names: {"gpus", "64"}; "set" may be repeated.
using Typed = std::vector<std::pair<std::string, std::string>>;

/// Reads "--zero 1 --set levels.rack.ports=4 -b 64" as fields.
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

/// The query with these fields; if a name is repeated, the last one counts.
inline Query query_of(const std::string& model, const std::string& system, const Typed& typed) {
  Query query{.model = model, .system = system};
  std::map<std::string_view, std::string> last;
  for (const auto& [key, text] : typed) last[key] = text;
  for (const Field& field : fields())
    if (const auto said = last.find(field.name); said != last.end()) read_field(query, field, said->second);
  for (const auto& [key, text] : typed)
    if (key == "set") add_change(query, read_change(text));
  return query;
}
inline Query query_of(const std::string& model, const std::string& system, const std::string& words) {
  return query_of(model, system, typed(words));
}

/// A model, a system and the best projection for the question.
struct Asked {
  Oracle oracle;
  Projection projection;

  explicit Asked(const Query& query) : oracle(ask(query, shipped())) {
    auto results = oracle.sweep();
    rank(results);
    projection = results.front();
  }
  Asked(const std::string& model, const std::string& system, const std::string& words)
      : Asked(query_of(model, system, words)) {}
};

}  // namespace paradl::test
