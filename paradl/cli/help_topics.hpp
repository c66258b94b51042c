#pragma once

#include <span>
#include <string_view>

namespace paradl {

/// One text of `paradl help TOPIC`: the file paradl/help/NAME.md, embedded at build time.
struct HelpTopic {
  std::string_view name;  // "units"
  std::string_view text;  // Markdown, as written
};

/// All topics, sorted by name.
[[nodiscard]] std::span<const HelpTopic> help_topics();

}  // namespace paradl
