#pragma once
#include <string>
#include <vector>

#include "paradl/console/session.hpp"

namespace paradl::calibrate {

/// What `paradl-calibrate fit links` was asked for.
struct LinkFitWords {
  std::vector<std::string> from;  // tables, or folders with a comm_measured.csv
  std::vector<std::string> only;  // in a curve's source, system or interconnect
  std::string to;                 // a system; none: print only
  bool dry_run = false;
};

int fit_published_links(const Session& session, const LinkFitWords& words);

}  // namespace paradl::calibrate
