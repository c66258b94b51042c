#include "paradl/report/terminal.hpp"

#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace paradl;

namespace {

/// Unsets all variables that terminal() reads, and restores them at the end of the test.
class Environment {
 public:
  Environment() {
    for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG"}) {
      if (const char* value = std::getenv(name))
        before_[name] = value;
      else
        before_[name] = std::nullopt;
      unsetenv(name);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_)
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void set(const char* name, const char* value) { setenv(name, value, 1); }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

/// A pseudo-terminal, so that the test does not depend on where it runs. fd is -1 if none can be opened.
class PseudoTerminal {
 public:
  PseudoTerminal() {
    if (main_ < 0 || grantpt(main_) != 0 || unlockpt(main_) != 0) return;
    fd = open(ptsname(main_), O_RDWR | O_NOCTTY);
  }
  ~PseudoTerminal() {
    if (fd >= 0) close(fd);
    if (main_ >= 0) close(main_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  void resize(unsigned short columns) const {
    winsize size{};
    size.ws_col = columns;
    ioctl(fd, TIOCSWINSZ, &size);
  }
  int fd = -1;

 private:
  int main_ = posix_openpt(O_RDWR | O_NOCTTY);
};

constexpr int closed = -1;  // no terminal, and no width
constexpr auto automatic = ColourChoice::automatic;

}  // namespace

TEST_CASE("terminal: output to a file or pipe is never cut or coloured") {
  Environment environment;
  environment.set("COLUMNS", "80");
  const Terminal piped = terminal(closed, automatic);
  CHECK_FALSE(piped.tty);
  CHECK_FALSE(piped.colour);
  CHECK(piped.columns == 0);
}

TEST_CASE("terminal: --color comes before NO_COLOR, and NO_COLOR before CLICOLOR_FORCE") {
  Environment environment;
  SUBCASE("CLICOLOR_FORCE colours a pipe") {
    environment.set("CLICOLOR_FORCE", "1");
    CHECK(terminal(closed, automatic).colour);
    environment.set("NO_COLOR", "");  // empty counts as unset
    CHECK(terminal(closed, automatic).colour);
    environment.set("NO_COLOR", "1");
    CHECK_FALSE(terminal(closed, automatic).colour);
    CHECK(terminal(closed, ColourChoice::always).colour);
    CHECK_FALSE(terminal(closed, ColourChoice::never).colour);
  }
  SUBCASE("CLICOLOR_FORCE=0 forces nothing") {
    environment.set("CLICOLOR_FORCE", "0");
    CHECK_FALSE(terminal(closed, automatic).colour);
  }
}

TEST_CASE("terminal: a terminal has colour and a width") {
  Environment environment;
  const PseudoTerminal pseudo;
  if (pseudo.fd < 0) {
    MESSAGE("no pseudo-terminal here; not tested");
    return;
  }
  environment.set("TERM", "xterm");
  pseudo.resize(100);
  CHECK(terminal(pseudo.fd, automatic).tty);
  CHECK(terminal(pseudo.fd, automatic).colour);
  CHECK(terminal(pseudo.fd, automatic).columns == 100);
  CHECK_FALSE(terminal(pseudo.fd, ColourChoice::never).colour);

  SUBCASE("NO_COLOR turns colour off") {
    environment.set("NO_COLOR", "1");
    CHECK_FALSE(terminal(pseudo.fd, automatic).colour);
  }
  SUBCASE("COLUMNS is used if the terminal does not know its width") {
    environment.set("COLUMNS", "72");
    CHECK(terminal(pseudo.fd, automatic).columns == 100);
    pseudo.resize(0);
    CHECK(terminal(pseudo.fd, automatic).columns == 72);
    environment.set("COLUMNS", "wide");
    CHECK(terminal(pseudo.fd, automatic).columns == 0);
  }
  SUBCASE("a dumb terminal is treated as a pipe") {
    environment.set("TERM", "dumb");
    const Terminal dumb = terminal(pseudo.fd, automatic);
    CHECK_FALSE(dumb.tty);
    CHECK_FALSE(dumb.colour);
    CHECK(dumb.columns == 0);
  }
}

TEST_CASE("terminal: symbols need a UTF-8 locale") {
  Environment environment;
  const auto unicode = [] { return terminal(closed, automatic).unicode; };
  CHECK_FALSE(unicode());
  environment.set("LANG", "en_GB.UTF-8");
  CHECK(unicode());
  environment.set("LC_CTYPE", "C");
  CHECK_FALSE(unicode());
  environment.set("LC_ALL", "de_DE.utf8");
  CHECK(unicode());
  environment.set("LC_ALL", "POSIX");
  CHECK_FALSE(unicode());
}

TEST_CASE("ascii: symbols are replaced by words") {
  const std::vector<std::pair<std::string, std::string>> spelt{{"Σ α β φ δ", "sum alpha beta phi delta"},
                                                               {"✗", "x"},
                                                               {"16×4", "16*4"},
                                                               {"p ≤ 4, ± 1, r²", "p <= 4, +- 1, r^2"},
                                                               {"plain", "plain"},
                                                               {"", ""},
                                                               {"naïve ☃", "na?ve ?"}};
  for (const auto& [text, plain] : spelt) CHECK(ascii(text) == plain);
}

TEST_CASE("display_width: one column per character") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("Σ ✗ ×") == 5);
}

TEST_CASE("substituted: the first match wins, and nothing is replaced twice") {
  const std::vector<Substitution> swaps{{"<=", "le"}, {"<", "lt"}, {"a", "b"}, {"b", "a"}};
  CHECK(substituted("a <= b < c", swaps) == "b le a lt c");
}
