// Matrix products and attention of the emulated device: the host's, on its stream. They stand in for
// what the emulator cannot run, the vendor's libraries.
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

void attention_forward(const Stream& stream, const Tensor& out, const Tensor& lse, const Tensor& q,
                       const Tensor& k, const Tensor& v, const AttentionOptions& options, Arena&) {
  const std::size_t bytes = attention_scratch_bytes(q.size(1), q.size(3));
  emulator::enqueue(stream, [=, out = on_host(out, "out"), lse = on_host(lse, "lse"),
                             q = on_host(q, "q"), k = on_host(k, "k"), v = on_host(v, "v")] {
    const Buffer memory(bytes);
    Arena scratch(memory);
    triax::attention_forward(Stream(), out, lse, q, k, v, options, scratch);
  });
}

void attention_backward(const Stream& stream, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                        const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                        const Tensor& k, const Tensor& v, const AttentionOptions& options, Arena&) {
  const std::size_t bytes = attention_scratch_bytes(q.size(1), q.size(3));
  emulator::enqueue(stream, [=, dq = on_host(dq, "dq"), dk = on_host(dk, "dk"),
                             dv = on_host(dv, "dv"), dout = on_host(dout, "dout"),
                             out = on_host(out, "out"), lse = on_host(lse, "lse"),
                             q = on_host(q, "q"), k = on_host(k, "k"), v = on_host(v, "v")] {
    const Buffer memory(bytes);
    Arena scratch(memory);
    triax::attention_backward(Stream(), dq, dk, dv, dout, out, lse, q, k, v, options, scratch);
  });
}

}  // namespace triax::cuda
