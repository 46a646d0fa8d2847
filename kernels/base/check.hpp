// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors that a user can act on, and checks of what must hold.
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace triax {

/// A run-time failure; the program ends with status 3. The text reads
/// "<problem> (<why>). <what to do>"; `why` and `what_to_do` may be empty.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& problem, const std::string& why = {},
                 const std::string& what_to_do = {});
};

/// The job file or the command line is wrong; the program ends with status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Throws Error with the formatted text unless `ok` holds. For what triax itself must keep true
/// (shapes, sizes, order of calls), not for user input, which deserves a fuller message.
template <class... Args>
void check(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) [[unlikely]]
    throw Error("internal error: " + fmt::format(text, std::forward<Args>(args)...), {},
                "This is a bug in triax: please report it with the job file");
}

}  // namespace triax
