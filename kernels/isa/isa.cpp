// SPDX-License-Identifier: Apache-2.0
#include "kernels/isa/isa.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/isa/processor.hpp"

namespace triax {
namespace {

constexpr std::array<std::string_view, isa_kinds> names = {"avx2", "avx512", "avx512_bf16",
                                                           "avx512_amx"};

}  // namespace

// One function of the program at all its ISA levels, in the layout of kernels/isa/join.sh. Calls
// jump to `in_use`.
struct IsaRow {
  const void* in_use;
  const void* of[isa_kinds];
};

}  // namespace triax

// The linker concatenates the rows of all objects into one section and defines symbols at its ends.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern triax::IsaRow __start_triax_isa[];  // NOLINT
[[gnu::weak, gnu::visibility("hidden")]] extern triax::IsaRow __stop_triax_isa[];   // NOLINT
// Rows refer to this symbol, so that the linker takes this file from its archive.
extern const char triax_isa_rows;
const char triax_isa_rows = 0;
}

namespace triax {
namespace {

Isa in_use = Isa::avx2;

void point_rows(Isa isa) {
  IsaRow* row = __start_triax_isa;
  // Hides the pointer: compilers assume that two arrays never begin at one address.
  asm("" : "+r"(row));
  for (; row != __stop_triax_isa; ++row) row->in_use = row->of[static_cast<std::size_t>(isa)];
  in_use = isa;
}

[[noreturn]] void refuse(std::string_view asked) {
  std::fprintf(
      stderr,
      "triax: TRIAX_ISA=%s cannot be used (the ISA levels are avx2, avx512, avx512_bf16 and "
      "avx512_amx; the highest usable here is %s). Unset it, or set it to one of these\n",
      asked.data(), name_of(best_isa()).data());
  std::_Exit(usage_failure);
}

// Runs before main, so that no program can forget it.
[[gnu::constructor]] void choose_at_start() {
  const char* const asked = std::getenv("TRIAX_ISA");
  if (asked == nullptr || *asked == 0) return point_rows(best_isa());
  for (int kind = 0; kind <= static_cast<int>(best_isa()); ++kind)
    if (names[static_cast<std::size_t>(kind)] == asked) return point_rows(Isa(kind));
  refuse(asked);
}

}  // namespace

std::string_view name_of(Isa isa) {
  return names[static_cast<std::size_t>(isa)];
}

Isa best_isa() {
#if !defined(TRIAX_NATIVE) || defined(__AMX_BF16__)
  constexpr Isa built = Isa::avx512_amx;
#elif defined(__AVX512BF16__)
  constexpr Isa built = Isa::avx512_bf16;
#elif defined(__AVX512VL__)
  constexpr Isa built = Isa::avx512;
#else
  constexpr Isa built = Isa::avx2;
#endif
  return std::min(built, static_cast<Isa>(detail::processor_level()));
}

Isa isa_in_use() {
  return in_use;
}

void use_isa(Isa isa) {
  if (isa > best_isa())
    throw Error(
        fmt::format("{} cannot be used", text_of(isa)),
        fmt::format("the highest ISA level of this processor and build is {}", name_of(best_isa())),
        "Unset TRIAX_ISA, or set it to a level up to that");
  point_rows(isa);
}

std::string text_of(Isa isa) {
#ifdef TRIAX_NATIVE
  return fmt::format("code for the processor of its build ({})", name_of(isa));
#else
  constexpr std::array<const char*, isa_kinds> texts = {"AVX2", "AVX-512", "AVX-512 with bf16",
                                                        "AVX-512 with AMX"};
  return fmt::format("code for {}", texts[static_cast<std::size_t>(isa)]);
#endif
}

}  // namespace triax
