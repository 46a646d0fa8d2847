// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the program as a user does, by shell commands.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace triax::test {

struct Outcome {
  int status;
  std::string text;  // standard output and error
};

/// `text` quoted as one shell word.
inline std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return word + "'";
}

/// Runs a shell command for at most 5 minutes; status -1 if a signal ended it.
inline Outcome outcome_of(const std::string& command) {
  FILE* const pipe = popen(("2>&1 timeout 300 " + command).c_str(), "r");
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    text.append(part.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

/// Runs a bash script.
inline Outcome outcome_of_script(const std::string& script) {
  return outcome_of("bash -c " + shell_word(script));
}

/// Shell command that runs triax with `arguments`.
inline std::string command_of(const std::string& arguments) {
  return shell_word(TRIAX_PROGRAM) + " " + arguments;
}

/// Shell prefix that starts a command on `ranks` ranks.
inline std::string mpiexec(int ranks) {
  return shell_word(MPIEXEC) + " " MPIEXEC_RANKS " " + std::to_string(ranks) + " ";
}

/// Runs triax as one process.
inline Outcome triax(const std::string& arguments) {
  return outcome_of(command_of(arguments));
}

/// Runs triax on `ranks` ranks.
inline Outcome triax_on(int ranks, const std::string& arguments) {
  return outcome_of(mpiexec(ranks) + command_of(arguments));
}

}  // namespace triax::test
