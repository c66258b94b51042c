#include <sstream>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/core/units.hpp"
#include "paradl/network/topology/graph.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {
namespace {

/// One line of the file, read word by word; mistakes are shown where they are.
class Line {
 public:
  Line(const std::string& file, const std::string& source, const std::string& text, int number)
      : file_(file), source_(source), words_(text.substr(0, text.find('#'))), number_(number) {}

  bool next(std::string& word) { return bool(words_ >> word); }

  [[noreturn]] void refuse(const std::string& message, const std::string& help) const {
    throw SpecError(file_, source_, {{.where = {number_, 1, 1}, .message = message, .help = help}});
  }

  int number(const std::string& word, int least, int most) const {
    int value = -1;
    std::istringstream in(word);
    if (!(in >> value) || in.peek() != EOF || value < least || value > most)
      refuse(fmt::format("`{}` is not a number from {} to {}", shortened(word), least, most),
             "hosts come first, then switches");
    return value;
  }

 private:
  const std::string &file_, &source_;
  std::istringstream words_;
  int number_;
};

struct Content {
  int hosts = 0, switches = 0;
  std::vector<Graph::Cable> cables;

  void read(Line& line, const WireSpec& wires) {
    std::string first, second;
    if (!line.next(first)) return;
    if (!line.next(second))
      line.refuse("a line needs two words or more", "write `hosts 4`, `switches 2` or a cable: `0 4`");
    if (first == "hosts") {
      hosts = line.number(second, 1, Graph::most_vertices);
    } else if (first == "switches") {
      switches = line.number(second, 0, Graph::most_vertices);
    } else {
      const int last = hosts + switches - 1;
      if (last < 0) line.refuse("a cable before the hosts", "write `hosts 4` and `switches 2` first");
      cables.push_back({line.number(first, 0, last), line.number(second, 0, last), link(line, wires.link)});
      if (cables.back().from == cables.back().to)
        line.refuse("a cable from a vertex to itself", "leave it out");
    }
    if (line.next(first))
      line.refuse(fmt::format("`{}` is more than the line should have", shortened(first)), "");
  }

 private:
  static Link link(Line& line, const Link& usual) {
    std::string bandwidth, latency;
    if (!line.next(bandwidth)) return usual;
    if (!line.next(latency)) line.refuse("a bandwidth without a latency", "write `0 4 12.5GB/s 500ns`");
    const auto rate = parse<Bandwidth>(bandwidth);
    const auto time = parse<Seconds>(latency);
    if (!rate || rate->base() <= 0)
      line.refuse(fmt::format("cannot read `{}`", shortened(bandwidth)), "write `12.5GB/s`");
    if (!time) line.refuse(fmt::format("cannot read `{}`", shortened(latency)), "write `500ns`");
    return {*time, 1.0 / *rate};
  }
};

}  // namespace

std::unique_ptr<Topology> read_graph(const std::string& file, const WireSpec& wires) {
  const std::string source = read_source(file).text;
  Content content;
  std::istringstream lines(source);
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    Line line(file, source, text, number);
    content.read(line, wires);
  }
  if (content.hosts == 0)
    throw UsageError(fmt::format("the topology file `{}` has no hosts", shortened(file)),
                     "write `hosts 4` on its first line");
  return std::make_unique<Graph>("graph:" + file, content.hosts, content.switches, content.cables,
                                 wires.half_duplex);
}

}  // namespace paradl
