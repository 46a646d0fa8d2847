#pragma once
// Runs the program as a user does.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace triax::test {

struct Outcome {
  int status;
  std::string text;  // standard output and error
};

/// Runs a shell command, for 60 s at most; status -1 where a signal ended it.
inline Outcome outcome_of(const std::string& command) {
  FILE* const pipe = popen(("2>&1 timeout 60 " + command).c_str(), "r");
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    text.append(part.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

/// Runs triax as one process.
inline Outcome triax(const std::string& arguments) {
  return outcome_of(TRIAX_PROGRAM " " + arguments);
}

}  // namespace triax::test
