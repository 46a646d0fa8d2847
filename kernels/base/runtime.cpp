#include "kernels/base/runtime.hpp"

#include <omp.h>

#include <Kokkos_Core.hpp>

namespace triax {

KernelRuntime::KernelRuntime(int threads) {
  omp_set_num_threads(threads);  // what oneDNN follows
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
