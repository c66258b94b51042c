#include "calibrate/measure/other_load.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include <unistd.h>

#include "calibrate/measure/clock.hpp"

namespace paradl::calibrate {
namespace {

/// Busy time of all cores since the machine started, including time that its host took.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, stolen = 0;
  file >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> stolen;
  return (user + nice + system + irq + soft_irq + stolen) / double(sysconf(_SC_CLK_TCK));
}

/// A number for the machine: containers and network namespaces with their own host name share its cores.
double machine_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return double(std::hash<std::string>{}(id) >> 12);
}

}  // namespace

OtherLoad::Reading OtherLoad::read() {
  return {busy_seconds(), clock_seconds(CLOCK_PROCESS_CPUTIME_ID), clock_seconds(CLOCK_MONOTONIC)};
}

OtherLoad::OtherLoad(Communicator& ranks) : ranks_(ranks) {
  ranks.barrier();
  start_ = read();
}

double OtherLoad::cores() const {
  const Reading now = read();
  const double wall = std::max(1e-9, now.wall - start_.wall);
  const auto machine = ranks_.gather(machine_number());
  const auto busy = ranks_.gather((now.busy - start_.busy) / wall);
  return most_left(machine, busy, ranks_.gather((now.own - start_.own) / wall));
}

double most_left(const std::vector<double>& machine, const std::vector<double>& busy,
                 const std::vector<double>& own) {
  double most = 0;
  for (std::size_t r = 0; r < machine.size(); ++r) {
    double left = busy[r];
    for (std::size_t other = 0; other < machine.size(); ++other)
      if (machine[other] == machine[r]) left -= own[other];
    most = std::max(most, left);
  }
  return most;
}

}  // namespace paradl::calibrate
