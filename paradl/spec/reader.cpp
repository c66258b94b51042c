#include "paradl/spec/reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include "paradl/core/text.hpp"

namespace paradl {
namespace {

/// Where brackets are nested deeper than in any spec: the YAML parser recurses. Brackets in comments and
/// quotes are not counted.
std::optional<Spot> too_deep(std::string_view text) {
  constexpr int deepest = 200;
  int depth = 0;
  Spot here{1, 0, 1};
  char quote = 0, before = '\n';
  bool comment = false;
  for (const char c : text) {
    here = c == '\n' ? Spot{here.line + 1, 0, 1} : Spot{here.line, here.column + 1, 1};
    if (c == '\n') comment = false, quote = 0;  // multi-line quotes are rare, stray apostrophes are not
    const bool fresh = before == ' ' || before == '\n' || before == '\t';
    if (!quote && c == '#' && fresh) comment = true;
    const bool opens = fresh || before == '[' || before == '{' || before == ',' || before == ':';
    if (!comment && quote == c)
      quote = 0;
    else if (!comment && !quote && (c == '"' || c == '\'') && opens)
      quote = c;
    else if (!comment && !quote)
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    before = c;
    if (depth > deepest) return here;
  }
  return {};
}

/// Whether a text has more words than any spec: parsing it only to refuse it would take seconds.
bool too_many_words(std::string_view text) {
  constexpr std::ptrdiff_t most_words = 80'000;
  return std::ranges::count_if(text, [](char c) {
           return c == ',' || c == '\n' || c == '[' || c == '{' || c == ':' || c == '?' || c == '-';
         }) > most_words;
}

/// Ignores all events.
struct IgnoringHandler : YAML::EventHandler {
  using Mark = YAML::Mark;
  using Anchor = YAML::anchor_t;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, Anchor) override {}
  void OnAlias(const Mark&, Anchor) override {}
  void OnScalar(const Mark&, const std::string&, Anchor, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, Anchor, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, Anchor, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// Where a second document begins. (YAML::LoadAll would find it, but does not terminate on some texts.)
std::optional<Spot> second_document(const std::string& text) {
  struct Listener : IgnoringHandler {
    YAML::Mark start;
    void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  } listener;
  std::istringstream in(text);
  YAML::Parser parser(in);
  if (!parser.HandleNextDocument(listener) || !parser.HandleNextDocument(listener)) return {};
  return Spot{std::max(listener.start.line, 0) + 1, std::max(listener.start.column, 0) + 1, 1};
}

/// Whether a text is certainly a single document: a mapping that begins in the first column, without lines
/// that end a document. True for most specs, which are then not searched for a second document.
bool is_one_mapping(std::string_view text) {
  if (text.find('\r') != text.npos) return false;
  bool begun = false;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with("---") || line.starts_with("...") || line.starts_with('%')) return false;
    if (begun || line.empty() || line.front() == '#') continue;
    const std::size_t key = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz-");
    begun = key > 0 && key != line.npos && line.front() != '-' && line[key] == ':' &&
            (key + 1 == line.size() || line[key + 1] == ' ');
    if (!begun) return false;
  }
  return begun;
}

}  // namespace

bool is_map(const YAML::Node& node) { return node.IsDefined() && node.IsMap(); }

bool has_key(const YAML::Node& map, std::string_view key) {
  return std::ranges::any_of(
      map, [&](const auto& entry) { return entry.first.IsScalar() && entry.first.Scalar() == key; });
}

std::string scalar_text(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : "";
}

YAML::Node parse_yaml(const SourceText& source) {
  Problems problems(source);
  try {
    if (const auto spot = not_text(source.text))
      problems.add(*spot, "this is not text", "write YAML in UTF-8, without control characters");
    if (too_many_words(source.text))
      problems.add({1, 1, 1}, "this has more words than any spec",
                   "check the file name, or write blocks with `repeat`");
    if (const auto spot = too_deep(source.text)) problems.add(*spot, "brackets are nested too deeply", "");
    problems.raise();
    if (const auto spot = is_one_mapping(source.text) ? std::nullopt : second_document(source.text))
      problems.add(*spot, "the file has a second document", "remove it, or the line `---` before it");
    problems.raise();
    return YAML::Load(source.text);
  } catch (const YAML::DeepRecursion& e) {
    problems.add({std::max(e.mark.line, 0) + 1, std::max(e.mark.column, 0) + 1, 1},
                 "this is nested too deeply", "");
  } catch (const YAML::Exception& e) {
    problems.add({std::max(e.mark.line, 0) + 1, std::max(e.mark.column, 0) + 1, 1},
                 "this is not YAML: " + e.msg,
                 "look for a missing bracket, quote or colon, a tab, or a wrong indentation");
  }
  problems.raise();
  return {};
}

YAML::Node shared_yaml(const SourceText& source) {
  // Parsing takes longer than computing a cost, and `validate` reads the same system for many runs. The
  // result depends only on the text, so the last few are kept.
  constexpr std::size_t most_texts = 64;
  thread_local std::unordered_map<std::string, YAML::Node> known;
  if (const auto found = known.find(source.text); found != known.end()) return found->second;
  YAML::Node root = parse_yaml(source);
  if (known.size() == most_texts) known.clear();
  known.emplace(source.text, root);
  return root;
}

Spot spot_of(const YAML::Node& node) {
  if (!node.IsDefined()) return {};
  const YAML::Mark mark = node.Mark();
  if (mark.is_null() || mark.line < 0) return {};
  const int width = node.IsScalar() ? std::max<int>(1, int(node.Scalar().size())) : 1;
  return {mark.line + 1, mark.column + 1, width};
}

Reader::Reader(YAML::Node map, Problems& problems, std::string what)
    : map_(std::move(map)), problems_(problems), what_(std::move(what)) {
  if (!is_map(map_)) {
    broken_ = true;
    problems_.add(spot_of(map_), what_ + " must be a mapping",
                  "write `key: value` lines, or {key: value, ...}");
    map_.reset(YAML::Node(YAML::NodeType::Map));  // does not change the file's own node
    return;
  }
  constexpr std::size_t usual = 16;  // number of keys
  known_.reserve(usual);
  entries_.reserve(map_.size());
  std::vector<std::string_view> keys;
  keys.reserve(map_.size());
  for (const auto& entry : map_) {
    if (!entry.first.IsScalar()) {
      problems_.add(spot_of(entry.first), "a key must be a word", "");
      continue;
    }
    entries_.push_back({&entry.first.Scalar(), entry.second});
    keys.push_back(*entries_.back().key);
  }
  std::ranges::sort(keys);
  if (std::ranges::adjacent_find(keys) == keys.end()) return;
  std::set<std::string_view> seen;
  for (const auto& entry : map_)
    if (entry.first.IsScalar() && !seen.insert(entry.first.Scalar()).second)
      problems_.add(spot_of(entry.first),
                    fmt::format("`{}` is given twice in {}", entry.first.Scalar(), what_),
                    "keep one of them");
}

const YAML::Node* Reader::find(const std::string& key) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return *entry.key == key; });
  return found == entries_.end() ? nullptr : &found->value;
}

YAML::Node Reader::node(const std::string& key) {
  if (has(key)) return *find(key);
  return YAML::Node(YAML::NodeType::Undefined);
}

bool Reader::has(const std::string& key) {
  if (known_.empty() || known_.back() != key) known_.push_back(key);  // a value is read in several steps
  return find(key) != nullptr;
}

Spot Reader::spot(const std::string& key) {
  if (!has(key)) return spot();
  const YAML::Node& value = *find(key);
  if (!value.IsNull()) return spot_of(value);
  // yaml-cpp places an empty value after its key, maybe on the next line; point to the key instead.
  for (const auto& entry : map_)
    if (entry.first.IsScalar() && entry.first.Scalar() == key) return spot_of(entry.first);
  return spot_of(value);
}

bool Reader::require(const std::string& key) {
  if (has(key)) return true;
  if (broken_) return false;
  if (!is_misspelt(key))
    problems_.add(spot(), fmt::format("{} has no `{}`", what_, key), fmt::format("add `{}: ...`", key));
  return false;
}

/// Whether finish() will report a key of the file as a misspelt `key`; then `key` is not reported as missing.
bool Reader::is_misspelt(const std::string& key) const {
  for (const auto& entry : map_)
    if (entry.first.IsScalar() && !std::ranges::count(known_, entry.first.Scalar()) &&
        nearest(entry.first.Scalar(), {key}) == key)
      return true;
  return false;
}

void Reader::wrong(const std::string& key, const std::string& message, const std::string& help) {
  problems_.add(spot(key), message, help);
}

std::optional<std::string> Reader::scalar(const std::string& key) {
  if (const YAML::Node* value = has(key) ? find(key) : nullptr; value && value->IsScalar())
    return value->Scalar();
  wrong(key, fmt::format("`{}` must be a single value", key), "write one word or number after it");
  return {};
}

std::string Reader::text(const std::string& key) {
  if (!require(key)) return {};
  const auto word = scalar(key);
  if (word && word->empty()) wrong(key, fmt::format("`{}` is empty", key), "write a word, or leave it out");
  // A quoted escape sequence can still contain one: "\e[31m".
  const auto control = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; };
  if (word && std::ranges::any_of(*word, control)) {
    wrong(key, fmt::format("`{}` has a control character", key), "write plain text");
    return {};
  }
  return word.value_or("");
}

std::string Reader::text(const std::string& key, const std::string& fallback) {
  return has(key) ? text(key) : fallback;
}

bool Reader::flag(const std::string& key, bool fallback) {
  if (!has(key)) return fallback;
  const auto word = scalar(key);
  if (word == "true" || word == "false") return word == "true";
  if (word) wrong(key, fmt::format("cannot read `{}`", key), "write true or false");
  return fallback;
}

double Reader::number(const std::string& key, double least, double most, std::optional<double> fallback) {
  if (!has(key) && fallback) return *fallback;
  if (!require(key)) return least;
  const auto word = scalar(key);
  if (!word) return least;
  double value = 0;
  const auto [end, failed] = std::from_chars(word->data(), word->data() + word->size(), value);
  if (failed != std::errc{} || end != word->data() + word->size() || !std::isfinite(value)) {
    wrong(key, fmt::format("cannot read `{}`", key), "write a number without a unit");
    return least;
  }
  if (value < least || value > most) {
    wrong(key, fmt::format("`{}` must be from {} to {}", key, least, most),
          value < least ? fmt::format("write {} or more", least) : fmt::format("write {} or less", most));
    return least;
  }
  return value;
}

double Reader::whole(const std::string& key, double least, double most, std::optional<double> fallback) {
  const double value = number(key, least, most, fallback);
  demand_whole(key, value);
  return std::floor(value);
}

void Reader::demand_whole(const std::string& key, double value) {
  if (value != std::floor(value))
    wrong(key, fmt::format("`{}` must be a whole number", key),
          fmt::format("write {} or {}", std::floor(value), std::ceil(value)));
}

std::vector<YAML::Node> Reader::items(const std::string& key) {
  const YAML::Node list = node(key);
  if (list.IsDefined() && list.IsSequence()) return {list.begin(), list.end()};
  wrong(key, fmt::format("`{}` must be a list", key), "write one `- {...}` per line");
  return {};
}

std::vector<std::string> Reader::words(const std::string& key) {
  const YAML::Node value = node(key);
  if (!value.IsDefined()) return {};
  if (value.IsScalar()) return {value.Scalar()};
  std::vector<std::string> list;
  for (const YAML::Node& item : value) {
    if (value.IsSequence() && item.IsScalar()) {
      list.push_back(item.Scalar());
    } else {
      wrong(key, fmt::format("`{}` must be a name or a list of names", key), "write [one, another]");
      return {};
    }
  }
  if (list.empty()) wrong(key, fmt::format("`{}` is empty", key), "name one, or leave it out");
  return list;
}

void Reader::finish() {
  const auto is_known = [&](const Entry& entry) { return std::ranges::count(known_, *entry.key) > 0; };
  if (std::ranges::all_of(entries_, is_known)) return;
  std::sort(known_.begin(), known_.end());
  known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
  for (const auto& entry : map_) {
    if (problems_.full()) return;
    if (!entry.first.IsScalar()) continue;
    const std::string key = entry.first.Scalar();
    if (std::ranges::binary_search(known_, key)) continue;
    std::string help = did_you_mean(key, known_);
    if (help.empty()) help = fmt::format("{} takes: {}", what_, fmt::join(known_, ", "));
    problems_.add(spot_of(entry.first), fmt::format("unknown key `{}`", key), help);
  }
}

}  // namespace paradl
