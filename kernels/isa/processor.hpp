#pragma once
// What the processor is asked, once and for all, before anything else of the program runs: a
// program that needs more than there is says so instead of ending by an illegal instruction.

namespace triax::detail {

/// 0 for a processor with AVX2, 1 with AVX-512 as x86-64-v4 has it, 2 with AVX512-BF16 too, 3 with
/// tiles of bfloat16 (AMX) that the kernel gives this process leave to use, which this asks for; 0
/// where the processor is not of x86-64.
int processor_level();

/// Whether AVX512-BF16's product of pairs takes several cycles: it does on Intel's processors from
/// Sapphire Rapids on, which have AMX for them, hidden by a virtual machine or not. Those are told
/// by AVX512-FP16.
bool processor_is_slow_at_pairs();

/// Whether Intel made it: which of a library's ways is faster there was measured apart.
bool processor_is_intel();

}  // namespace triax::detail
