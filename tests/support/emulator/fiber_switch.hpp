// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stack switches of the emulator's fibers, announced to the address sanitizer, which tracks the
// bounds of the current stack. Empty functions in other builds.
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
inline constexpr std::size_t stack_bytes = 262144;  // with the sanitizer's gaps between variables

/// Call before a jump to `next`. keep: stores the sanitizer's state of this stack; null if it is
/// never resumed.
inline void leave_stack(void** keep, const StackBounds& next) {
  __sanitizer_start_switch_fiber(keep, next.bottom, next.bytes);
}
/// Call after a jump. kept: the state stored by leave_stack, or null on a new stack. Returns the
/// stack that was left.
inline StackBounds enter_stack(void* kept) {
  StackBounds left;
  __sanitizer_finish_switch_fiber(kept, &left.bottom, &left.bytes);
  return left;
}
#else
// Not a power of two: such stacks would compete for few cache lines.
inline constexpr std::size_t stack_bytes = 65536 + 13 * 64;
inline void leave_stack(void**, const StackBounds&) {}
inline StackBounds enter_stack(void*) {
  return {};
}
#endif

}  // namespace triax::cuda::emulator
