// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limit of values inside of values, so that functions which call themselves for them end.

namespace triax::jinja {

/// One level of a function that calls itself for the values inside of a value: counts for the life
/// of the object, per thread.
class Nesting {
 public:
  static constexpr int most = 500;
  /// Fault beyond `most` levels.
  Nesting();
  ~Nesting();
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
};

}  // namespace triax::jinja
