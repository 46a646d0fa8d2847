// SPDX-License-Identifier: Apache-2.0
#pragma once
// Questions to the processor. At program start, before anything else runs, a processor without the
// needed features is refused with an error instead of an illegal instruction.

namespace triax::detail {

/// 0: AVX2. 1: AVX-512 as in x86-64-v4. 2: also AVX512-BF16. 3: also bfloat16 tiles (AMX) with the
/// kernel's permission, which this call requests. Always 0 on processors other than x86-64.
int processor_level();

/// True if AVX512-BF16's product of pairs takes several cycles. It does on Intel's processors from
/// Sapphire Rapids on, which have AMX, even where a virtual machine hides it. AVX512-FP16
/// identifies them.
bool processor_is_slow_at_pairs();

/// True for Intel's processors: oneDNN's faster way to a product differs there, as measured.
bool processor_is_intel();

}  // namespace triax::detail
