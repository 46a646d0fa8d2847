// SPDX-License-Identifier: Apache-2.0
#pragma once
// ISA levels: the sets of processor instructions that compute code is compiled for. The program
// contains that code once per level (kernels/isa), and one level is in use at a time.
#include <cstdint>
#include <string>
#include <string_view>

namespace triax {

/// Levels by what they require of a processor; each level includes those before it.
enum class Isa : std::uint8_t {
  avx2,         // x86-64-v3, the minimum for the program
  avx512,       // x86-64-v4
  avx512_bf16,  // and AVX512-BF16: rounds to bfloat16 and multiplies pairs of bfloat16
  avx512_amx,   // and AMX: multiplies tiles of bfloat16, with the kernel's permission
};
inline constexpr int isa_kinds = 4;

/// Name of a level as the environment variable TRIAX_ISA takes it: "avx2", "avx512", "avx512_bf16",
/// "avx512_amx".
std::string_view name_of(Isa isa);

/// The highest level that both this processor and this program have. A program built for one
/// processor (TRIAX_NATIVE) has the same code at every level.
Isa best_isa();

/// The level in use. At program start it is TRIAX_ISA, or best_isa() if that is not set.
Isa isa_in_use();

/// Changes the level in use; no other thread may compute meanwhile. An Error for a level above
/// best_isa().
void use_isa(Isa isa);

/// A level as text for users: "code for AVX-512 with bf16"; in a TRIAX_NATIVE program, the build's
/// own level.
std::string text_of(Isa isa);

}  // namespace triax
