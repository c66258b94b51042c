#include "paradl/spec/document.hpp"

#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/support/spec_text.hpp"
#include "tests/support/temporary.hpp"

using namespace paradl;

TEST_CASE("a file is read completely") {
  const test::TemporaryFolder folder;
  const std::string text("a\0b\n", 4);
  CHECK(read_source(folder.write("binary", text)).text == text);
  CHECK(test::complaint([&] { read_source(folder.path()); }).find("is a directory") != std::string::npos);
  CHECK(test::complaint([&] { read_source(folder.path() + "/none"); }).find("does not exist") !=
        std::string::npos);
}

TEST_CASE("a pipe is read to its end, and refused if no program writes to it") {
  const test::TemporaryFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(test::complaint([&] { read_source(pipe); }) ==
        "usage: no program writes to the pipe `" + pipe +
            "`\nhelp: name a file, or start the program that writes to it\n");

  const std::string long_text(1 << 18, 'x');  // more than a pipe holds
  std::thread writer([&] { std::ofstream(pipe) << long_text; });
  CHECK(read_source(pipe).text == long_text);
  writer.join();
}
