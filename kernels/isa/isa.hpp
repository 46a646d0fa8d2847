#pragma once
// Which of the processor's instructions the code that computes uses. It is in the program once for
// each kind of code (kernels/isa), and one kind is in use at a time.
#include <cstdint>
#include <string>
#include <string_view>

namespace triax {

/// Kinds by what they need of a processor; each needs all that those before it do.
enum class Isa : std::uint8_t {
  avx2,         // x86-64-v3, the least that the program runs on
  avx512,       // x86-64-v4
  avx512_bf16,  // with AVX512-BF16: rounds to bfloat16 and multiplies pairs of it by itself
  avx512_amx,   // with AMX too, which multiplies tiles of bfloat16, and leave to use it
};
inline constexpr int isa_kinds = 4;

/// What the environment variable TRIAX_ISA takes: "avx2", "avx512", "avx512_bf16", "avx512_amx".
std::string_view name_of(Isa isa);

/// The last kind that this processor has and this program has code for. A program that was built
/// for one processor alone (TRIAX_NATIVE) has one code whatever the kind.
Isa best_isa();

/// The kind in use: from the start of the program on best_isa(), or what TRIAX_ISA says.
Isa isa_in_use();

/// Changes it. No other thread may compute. An Error for a kind beyond best_isa().
void use_isa(Isa isa);

/// A kind for people: "code for AVX-512 with bf16", or that the program has no other code.
std::string text_of(Isa isa);

}  // namespace triax
