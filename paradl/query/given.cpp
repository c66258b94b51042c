#include "paradl/query/given.hpp"

#include <fmt/format.h>

namespace paradl {

void blame(std::initializer_list<OriginPtr> origins, const UsageError& error) {
  for (const OriginPtr& origin : origins) {
    if (!origin) continue;
    if (origin->file)
      throw SpecError(origin->file->file, origin->file->text, {{origin->spot, error.what(), error.help()}});
    throw UsageError(fmt::format("{}={}: {}", origin->name, origin->text, error.what()), error.help());
  }
  throw error;
}

}  // namespace paradl
