// SPDX-License-Identifier: Apache-2.0
#include "kernels/parallel/runtime.hpp"

#include <omp.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <dnnl.hpp>

#include "kernels/base/check.hpp"
#include "kernels/isa/isa.hpp"

// Products run on OpenMP's threads and are complete when the call returns.
static_assert(
    DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP,
    "this oneDNN is not built for OpenMP (DNNL_CPU_RUNTIME). Set -Ddnnl_DIR to one that is");

namespace triax {
namespace {

// Limits oneDNN to the ISA level of our own code if that is below the processor's, so that all
// ranks of a job multiply at one level. oneDNN refuses this after its first product, and builds
// without this feature choose their level themselves. Above avx512_amx oneDNN chooses for itself
// (AMX-FP16), and it divides a product by caches and threads. Ranks compute the same product only
// for key and value heads that tensor ranks share. Their gradients are summed over these ranks, so
// a difference there is a rounding of activations.
void limit_products() {
  if (isa_in_use() == best_isa()) return;
  constexpr std::array limits = {dnnl::cpu_isa::avx2, dnnl::cpu_isa::avx512_core,
                                 dnnl::cpu_isa::avx512_core_bf16, dnnl::cpu_isa::avx512_core_amx};
  static_assert(limits.size() == isa_kinds);
  const dnnl::status status = dnnl::set_max_cpu_isa(limits[static_cast<std::size_t>(isa_in_use())]);
  check(status == dnnl::status::success || status == dnnl::status::unimplemented,
        "oneDNN multiplied matrices before its instructions were limited");
}

}  // namespace

KernelRuntime::KernelRuntime(int threads) {
  limit_products();
  omp_set_num_threads(threads);  // oneDNN follows it
#if KOKKOS_VERSION >= 40000
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(threads));
#else
  Kokkos::InitArguments arguments;
  arguments.num_threads = threads;
  Kokkos::initialize(arguments);
#endif
}

KernelRuntime::~KernelRuntime() {
  Kokkos::finalize();
}

}  // namespace triax
