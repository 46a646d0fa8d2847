// SPDX-License-Identifier: Apache-2.0
#pragma once
// A guard that calls two member functions of an object, at the begin and end of a scope.

namespace triax {

/// Calls `begin` of an object now and `end` at the end of the scope; neither if the object is null.
template <auto begin, auto end>
class Scope;

template <class T, class... Args, void (T::*begin)(Args...), void (T::*end)()>
class [[nodiscard]] Scope<begin, end> {
 public:
  explicit Scope(T* told, Args... args) : told_(told) {
    if (told_ != nullptr) (told_->*begin)(args...);
  }
  ~Scope() {
    if (told_ != nullptr) (told_->*end)();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  T* told_;
};

}  // namespace triax
