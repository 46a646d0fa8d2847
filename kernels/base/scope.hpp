#pragma once
// What is told of a scope's begin and end.

namespace triax {

/// Calls `begin` of an object, and `end` when it goes; neither where there is no object (null).
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
