#pragma once
// Told to the address sanitizer, which keeps the bounds of the stack that a thread is on: when the
// emulator leaves one for another. Nothing in other builds.
#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace triax::cuda::emulator {

struct StackBounds {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t stack_bytes = 262144;  // with the room between its variables

/// Before a jump to `next`. `keep`: what the sanitizer wants back on return here; null: nobody
/// returns.
inline void leave_stack(void** keep, const StackBounds& next) {
  __sanitizer_start_switch_fiber(keep, next.bottom, next.bytes);
}
/// Behind a jump; `kept`: null where one begins. Returns the stack that was left.
inline StackBounds enter_stack(void* kept) {
  StackBounds left;
  __sanitizer_finish_switch_fiber(kept, &left.bottom, &left.bytes);
  return left;
}
#else
// Stacks that lie a power of two apart would share few lines of the caches.
inline constexpr std::size_t stack_bytes = 65536 + 13 * 64;
inline void leave_stack(void**, const StackBounds&) {}
inline StackBounds enter_stack(void*) {
  return {};
}
#endif

}  // namespace triax::cuda::emulator
