// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps the first of several failures, so that later actions still run.
#include <exception>
#include <utility>

namespace triax {

class FirstFailure {
 public:
  /// Runs `action` and keeps its exception if nothing failed before.
  template <class Action>
  void of(Action&& action) noexcept {
    try {
      std::forward<Action>(action)();
    } catch (...) {
      keep(std::current_exception());
    }
  }
  void keep(std::exception_ptr failure) noexcept {
    if (!first_) first_ = std::move(failure);
  }
  bool met() const { return first_ != nullptr; }
  /// Null if nothing failed.
  const std::exception_ptr& first() const { return first_; }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace triax
