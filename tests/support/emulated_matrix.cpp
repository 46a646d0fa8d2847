// Matrix products of the emulated device: the host's, on its stream. They stand in for the vendor's
// library, which the emulator cannot run.
#include "kernels/cuda/emulated_device.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax::cuda {
namespace {

Tensor on_host(const Tensor& tensor, const char* name) {
  check(tensor.data() == nullptr || tensor.space() == MemorySpace::device,
        "{} in host memory, given to a kernel of the device", name);
  if (tensor.data() == nullptr) return {};
  Shape stride;
  for (int d = 0; d < tensor.rank(); ++d) stride.push_back(tensor.stride(d));
  return Tensor(tensor.data(), tensor.dtype(), {}).restrided(tensor.shape(), stride);
}

}  // namespace

void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  MatmulOptions there = options;
  there.bias = on_host(options.bias, "bias");
  emulator::enqueue(stream, [=, c = on_host(c, "c"), a = on_host(a, "a"), b = on_host(b, "b")] {
    triax::matmul(Stream(), c, a, b, there);
  });
}

}  // namespace triax::cuda
