// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/check.hpp"

#include <cerrno>
#include <cstring>

namespace triax {
namespace {
std::string compose(const std::string& problem, const std::string& why, const std::string& remedy) {
  std::string text = problem;
  if (!why.empty()) text += " (" + why + ")";
  // EMFILE is a limit of the process, not a fault of the file opened last: its remedy replaces
  // `remedy`.
  if (why.find(std::strerror(EMFILE)) != why.npos && why.find(std::strerror(ENFILE)) == why.npos)
    return text + ". Raise the limit on open files (ulimit -n)";
  if (!remedy.empty()) text += ". " + remedy;
  return text;
}
}  // namespace

Error::Error(const std::string& problem, const std::string& why, const std::string& what_to_do)
    : std::runtime_error(compose(problem, why, what_to_do)) {}

}  // namespace triax
