// The kernels that no build has for a device yet.
#include "kernels/cuda/absent.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax::cuda {

void matmul(const Stream&, const Tensor&, const Tensor&, const Tensor&, const MatmulOptions&) {
  absent("matmul");
}

}  // namespace triax::cuda
