// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors of templates before their position is known.
#include <stdexcept>
#include <string>

namespace triax::jinja {

/// A fault in an expression; the renderer adds line and column.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// raise_exception(text): the template refuses the conversation.
class Raised : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace triax::jinja
