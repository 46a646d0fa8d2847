// Causal attention, forward and backward, at GPT-2's and Llama's head shapes. A multiply-add of a
// query and an earlier key counts, one that the mask removes does not: forward 2 products,
// backward 5.
#include <fmt/core.h>

#include <cmath>
#include <random>

#include "benchmarks/support/machine.hpp"
#include "benchmarks/support/report.hpp"
#include "kernels/attention.hpp"
#include "kernels/base/runtime.hpp"
#include "kernels/base/with_type.hpp"

namespace {

using namespace triax;

struct Case {
  std::int64_t batch, length, heads, key_heads, head_size;
  DType type = DType::f32;
};

Tensor random_tensor(Arena& arena, DType type, const Shape& shape) {
  const Tensor tensor = arena.take("tensor", type, shape);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  with_type(type, [&]<class T>(Type<T>) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.as<T>()[i] = T(normal(engine));
  });
  return tensor;
}

void run(const Case& n, double peak) {
  const std::int64_t all_heads = n.heads + 2 * n.key_heads;
  const std::int64_t rows = n.batch * n.length;
  const Buffer memory(static_cast<std::size_t>(rows * n.head_size * (2 * all_heads + 3 * n.heads)) *
                          sizeof(float) +
                      attention_scratch_bytes({n.batch, n.length, n.heads, n.head_size}));
  Arena arena(memory);
  // q, k and v are columns of one matrix, as the layers have them.
  const auto slices = [&](const Tensor& fused, std::int64_t first, std::int64_t heads) {
    return fused.slice(2, first, heads);
  };
  const Tensor qkv = random_tensor(arena, n.type, {n.batch, n.length, all_heads, n.head_size});
  const Tensor dqkv = random_tensor(arena, n.type, qkv.shape());
  const Tensor out = random_tensor(arena, n.type, {n.batch, n.length, n.heads, n.head_size});
  const Tensor dout = random_tensor(arena, n.type, out.shape());
  const Tensor lse = random_tensor(arena, DType::f32, {n.batch, n.heads, n.length});
  const Tensor q = slices(qkv, 0, n.heads);
  const Tensor k = slices(qkv, n.heads, n.key_heads);
  const Tensor v = slices(qkv, n.heads + n.key_heads, n.key_heads);
  AttentionOptions options;
  options.scale = 1.0F / std::sqrt(static_cast<float>(n.head_size));

  const auto report = [&](std::string_view direction, double products, const auto& body) {
    const auto timing = benchmark::time_median(body);
    const double multiply_adds = static_cast<double>(n.batch * n.heads * n.head_size) *
                                 static_cast<double>(n.length) * static_cast<double>(n.length + 1) /
                                 2;
    const double flops = 2 * products * multiply_adds / timing.seconds;
    benchmark::print_result(
        "attention",
        fmt::format("{} B={} T={} H={} Hkv={} D={} {}", direction, n.batch, n.length, n.heads,
                    n.key_heads, n.head_size, name_of(n.type)),
        timing, {{"flops_per_second", flops}, {"peak_fraction", flops / peak}});
  };
  const Stream stream;
  const auto forward = [&] { attention_forward(stream, out, lse, q, k, v, options, arena); };
  const auto backward = [&] {
    attention_backward(stream, slices(dqkv, 0, n.heads), slices(dqkv, n.heads, n.key_heads),
                       slices(dqkv, n.heads + n.key_heads, n.key_heads), dout, out, lse, q, k, v,
                       options, arena);
  };
  report("forward", 2, forward);
  report("backward", 5, backward);
  report("both", 7, [&] {
    forward();
    backward();
  });
}

}  // namespace

int main() {
  const KernelRuntime runtime;
  const double peak = benchmark::measure_fma_peak();
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    for (std::int64_t length : {64, 256, 512, 1024}) run({2, length, 12, 12, 64, type}, peak);
    run({1, 1024, 8, 2, 128, type}, peak);
  }
}
