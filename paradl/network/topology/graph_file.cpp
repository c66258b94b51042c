#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/core/text.hpp"
#include "paradl/core/units.hpp"
#include "paradl/network/topology/graph.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {
namespace {

/// One line of the file, read word by word; mistakes are shown where they are.
class Line {
 public:
  Line(const SourceText& source, const std::string& text, int number)
      : source_(source), words_(text.substr(0, text.find('#'))), spot_{number, 1, 1} {}

  bool next(std::string& word) {
    const auto start = (words_ >> std::ws).tellg();
    if (!(words_ >> word)) return false;
    spot_.column = int(start) + 1;
    spot_.width = int(word.size());
    return true;
  }

  [[noreturn]] void refuse(const std::string& message, const std::string& help) const {
    throw SpecError(source_.file, source_.text, {{.where = spot_, .message = message, .help = help}});
  }

  /// The next word, which must be a number; there is one.
  int number(int least, int most) {
    std::string word;
    next(word);
    int value = -1;
    std::istringstream in(word);
    if (!(in >> value) || in.peek() != EOF || value < least || value > most)
      refuse(fmt::format("`{}` is not a number from {} to {}", shortened(word), least, most),
             "hosts come first, then switches");
    return value;
  }

  Spot spot() const { return spot_; }
  /// Points at a word that was read before.
  void point_at(Spot spot) { spot_ = spot; }

  /// As if nothing had been read of it.
  void again() {
    words_.clear();
    words_.seekg(0);
  }

 private:
  const SourceText& source_;
  std::istringstream words_;
  Spot spot_;  // of the word that was read last
};

struct Content {
  int hosts = 0, switches = 0;
  std::optional<Spot> spot_of_hosts, spot_of_switches;
  std::vector<Graph::Cable> cables;

  void read(Line& line, const WireSpec& wires) {
    std::string first, second;
    if (!line.next(first)) return;
    if (!line.next(second))
      line.refuse("a line needs two words or more", "write `hosts 4`, `switches 2` or a cable: `0 4`");
    line.again();
    if (first == "hosts" || first == "switches") {
      line.next(first);
      const bool of_hosts = first == "hosts";
      std::optional<Spot>& spot = of_hosts ? spot_of_hosts : spot_of_switches;
      if (spot)
        line.refuse(fmt::format("`{}` is given twice, first on line {}", first, spot->line),
                    "keep one of them");
      if (!cables.empty()) line.refuse(fmt::format("`{}` after a cable", first), "write it above all cables");
      spot = line.spot();
      (of_hosts ? hosts : switches) = line.number(of_hosts ? 1 : 0, Graph::most_vertices);
    } else {
      const int last = hosts + switches - 1;
      if (last < 0) line.refuse("a cable before the hosts", "write `hosts 4` and `switches 2` first");
      const int from = line.number(0, last), to = line.number(0, last);
      if (from == to) line.refuse("a cable from a vertex to itself", "leave it out");
      cables.push_back({from, to, link(line, wires.link), 1, {}});
    }
    if (line.next(first))
      line.refuse(fmt::format("`{}` is more than the line should have", shortened(first)),
                  "write `A B`, or `A B 12.5GB/s 500ns`");
  }

 private:
  static Link link(Line& line, const Link& usual) {
    std::string bandwidth, latency;
    if (!line.next(bandwidth)) return usual;
    const Spot of_bandwidth = line.spot();
    if (!line.next(latency)) line.refuse("a bandwidth without a latency", "write `0 4 12.5GB/s 500ns`");
    const auto rate = parse<Bandwidth>(bandwidth);
    const auto time = parse<Seconds>(latency);
    if (!time) line.refuse(fmt::format("cannot read `{}`", shortened(latency)), "write `500ns`");
    line.point_at(of_bandwidth);
    if (!rate) line.refuse(fmt::format("cannot read `{}`", shortened(bandwidth)), "write `12.5GB/s`");
    if (!(rate->base() > 0)) line.refuse("a bandwidth must be more than zero", "write `12.5GB/s`");
    return {*time, 1.0 / *rate};
  }
};

}  // namespace

std::unique_ptr<Topology> read_graph(const std::string& file, const WireSpec& wires) {
  SourceText source = read_source(file);
  const auto refuse = [&](Spot where, const std::string& message, const std::string& help) {
    return SpecError(source.file, source.text, {{.where = where, .message = message, .help = help}});
  };
  if (const auto spot = not_text(source.text))
    throw refuse(*spot, "this is not text", "write lines such as `0 4`");
  Content content;
  std::istringstream lines(source.text);
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    Line line(source, text, number);
    content.read(line, wires);
  }
  if (content.hosts == 0)
    throw refuse({1, 1, 1}, "this topology has no hosts", "write `hosts 4` on its first line");
  std::unique_ptr<Graph> graph;
  try {
    graph = std::make_unique<Graph>("graph:" + file, content.hosts, content.switches, content.cables,
                                    wires.half_duplex);
  } catch (const UsageError& error) {  // too large, or not in one piece: the file's mistake
    throw refuse(*content.spot_of_hosts, error.what(), error.help());
  }
  graph->set_source(std::move(source));
  return graph;
}

}  // namespace paradl
