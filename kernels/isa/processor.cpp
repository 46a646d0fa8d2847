// SPDX-License-Identifier: Apache-2.0
// This file is compiled for any x86-64 processor (CMakeLists.txt). It calls no inline function of a
// header: the linker might take that function's code from a file compiled for a higher ISA level.
#include "kernels/isa/processor.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "kernels/base/exit_status.hpp"

namespace triax::detail {
namespace {

void say(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  while (length > 0) {
    const ssize_t written = write(STDERR_FILENO, text, length);
    if (written <= 0) return;
    text += written;
    length -= static_cast<std::size_t>(written);
  }
}

// The features that the rest of the program is compiled to use, each as FEATURE("avx2").
#define FEATURE(name) name " "
constexpr const char* needed =
#include "kernels/isa/processor_features.inc"
    "";
#undef FEATURE

[[noreturn]] void refuse(const char* missing) {
  say("triax: this processor has no ");
  say(missing);
  say(" (the program is built for processors with ");
  say(needed);
  say("and would end by an illegal instruction). Run it on nodes that have these, or build it on a "
      "node that it shall run on: cmake --preset native\n");
  _exit(run_time_failure);
}

void check_processor() {
  __builtin_cpu_init();
#define FEATURE(name) \
  if (__builtin_cpu_supports(name) == 0) refuse(name);
#include "kernels/isa/processor_features.inc"
#undef FEATURE
}

// Runs before all initialisers, including those of libraries.
using Initialiser = void (*)();
[[gnu::section(".preinit_array"), gnu::used]] const Initialiser first = check_processor;

// True if EDX of CPUID leaf 7 has all of `bits`.
bool has_features(unsigned bits) {
  constexpr unsigned structured_features = 7;
  unsigned most = 0, a = 0, b = 0, c = 0, d = 0;
  __cpuid(0, most, b, c, d);
  if (most < structured_features) return false;
  __cpuid_count(structured_features, 0, a, b, c, d);
  return (d & bits) == bits;
}

// Tile registers are 8 KiB of state that the kernel must save per thread, so Linux requires a
// process to ask for them (since 5.16; older kernels and sandboxes refuse). The permission covers
// all threads, and asking again does no harm.
bool leave_for_tiles() {
  constexpr unsigned tile_states = 3U << 17U;  // XCR0's bits of tile configuration and tile data
  unsigned states = 0, upper = 0;
  asm volatile("xgetbv" : "=a"(states), "=d"(upper) : "c"(0));
  if ((states & tile_states) != tile_states) return false;
  constexpr long ask_for_state = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0;
}

}  // namespace

int processor_level() {
  __builtin_cpu_init();
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0;
  if (!avx512) return 0;
  if (__builtin_cpu_supports("avx512bf16") == 0) return 1;
  constexpr unsigned tiles_of_bf16 = 1U << 24U | 1U << 22U;
  return has_features(tiles_of_bf16) && leave_for_tiles() ? 3 : 2;
}

bool processor_is_intel() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") != 0;
}

bool processor_is_slow_at_pairs() {
  constexpr unsigned products_of_f16 = 1U << 23U;
  return processor_is_intel() && has_features(products_of_f16);
}

}  // namespace triax::detail

#else

int triax::detail::processor_level() {
  return 0;
}

bool triax::detail::processor_is_intel() {
  return false;
}

bool triax::detail::processor_is_slow_at_pairs() {
  return false;
}

#endif
