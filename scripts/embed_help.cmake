# Writes OUTPUT, a C++ source that holds the text of every file in FILES; see paradl/cli/help_topics.hpp.

set(chunk_size 16000)  # compilers may refuse a string literal beyond 64 KiB

# Appends `text` to `code` as raw string literals, cut at ends of lines so that no UTF-8 character is torn.
function(append_literals text)
  string(LENGTH "${text}" length)
  while(length GREATER chunk_size)
    string(SUBSTRING "${text}" 0 ${chunk_size} chunk)
    string(FIND "${chunk}" "\n" cut REVERSE)
    if(cut EQUAL -1)
      message(FATAL_ERROR "a line of a help text is longer than ${chunk_size} bytes")
    endif()
    math(EXPR cut "${cut} + 1")
    string(SUBSTRING "${text}" 0 ${cut} chunk)
    string(SUBSTRING "${text}" ${cut} -1 text)
    string(APPEND code "R\"~help~(${chunk})~help~\"\n")
    string(LENGTH "${text}" length)
  endwhile()
  string(APPEND code "R\"~help~(${text})~help~\"")
  set(code "${code}" PARENT_SCOPE)
endfunction()

set(code [[
#include "paradl/cli/help_topics.hpp"

namespace paradl {
namespace {

constexpr HelpTopic topics[] = {
]])
list(SORT FILES)
foreach(file IN LISTS FILES)
  cmake_path(GET file STEM LAST_ONLY name)
  file(READ "${file}" text)
  string(APPEND code "{\"${name}\",\n")
  append_literals("${text}")
  string(APPEND code "},\n")
endforeach()
list(LENGTH FILES count)
# The last, empty element is never shown: it keeps the array legal when there are no files.
string(APPEND code "{}};

}  // namespace

std::span<const HelpTopic> help_topics() { return {topics, ${count}}; }

}  // namespace paradl
")
file(WRITE "${OUTPUT}" "${code}")
