// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/process_name.hpp"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace triax {
namespace {

struct Stat {
  char state = 'X';
  std::uint64_t born = 0;
};

// proc(5): the command name, in parentheses, may hold any character; the state is field 3, the
// start time field 22.
Stat stat_of(std::int32_t number) {
  std::ifstream file("/proc/" + std::to_string(number) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  Stat stat;
  std::string skipped;
  fields >> stat.state;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> stat.born;
  return stat;
}

}  // namespace

ProcessName this_process() {
  const auto number = static_cast<std::int32_t>(getpid());
  return {number, stat_of(number).born};
}

ProcessState state_of(const ProcessName& process) {
  const Stat stat = stat_of(process.number);
  if (stat.born != process.born || stat.state == 'Z' || stat.state == 'X')
    return ProcessState::gone;
  return stat.state == 'T' || stat.state == 't' ? ProcessState::stopped : ProcessState::running;
}

void kill_process(const ProcessName& process) {
  if (process.number > 0 && state_of(process) != ProcessState::gone)
    kill(static_cast<pid_t>(process.number), SIGKILL);
}

}  // namespace triax
