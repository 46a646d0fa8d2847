#pragma once
// Threads of the emulator, which take turns on one. Plain switches of the stack where that is known
// how: ucontext's make two system calls each, and the emulator makes millions.
#include <cstddef>
#include <memory>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
#define TRIAX_UCONTEXT
#include <ucontext.h>
#endif

namespace triax::cuda::emulator {

/// A place to go on from: of a fiber, or of the thread that runs them.
class FiberContext {
 public:
  FiberContext() = default;
  FiberContext(FiberContext&&) noexcept = default;
  FiberContext& operator=(FiberContext&&) noexcept = default;

  /// Will call entry(argument) when it is first gone to; that must leave by a switch, not return.
  void begin(void (*entry)(void*), void* argument);
  /// Goes on at `to`; returns when somebody goes on here.
  void switch_to(FiberContext& to);

 private:
  std::unique_ptr<char[]> stack_;
#ifdef TRIAX_UCONTEXT
  std::unique_ptr<ucontext_t> context_ = std::make_unique<ucontext_t>();
#else
  void* top_ = nullptr;  // of the stack, with what is to be restored
#endif
};

}  // namespace triax::cuda::emulator
