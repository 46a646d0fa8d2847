// SPDX-License-Identifier: Apache-2.0
// Causal attention, forward and backward, at GPT-2's and Llama's head shapes. A multiply-add of a
// query and an earlier key counts, one that the mask, the window or documents remove does not:
// forward 2 products, backward 5. The argument "device" runs it on a GPU.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/support/place.hpp"
#include "kernels/attention/attention.hpp"

namespace {

using namespace triax;
using benchmark::RandomArray;

struct Case {
  std::int64_t batch, length, heads, key_heads, head_size;
  DType type = DType::f32;
  std::int64_t window = 0;
  std::int64_t document = 0;  // tokens of each document; 0: one per sequence

  // Pairs of a query and a key that it sees, per head.
  double pairs() const {
    double sum = 0;
    const std::int64_t size = document == 0 ? length : document;
    for (std::int64_t begin = 0; begin < length; begin += size) {
      const std::int64_t tokens = std::min(size, length - begin);
      const std::int64_t most = window == 0 ? tokens : std::min(window, tokens);
      sum += static_cast<double>(most * tokens - most * (most - 1) / 2);
    }
    return sum;
  }
  // Positions of the tokens in their documents.
  std::vector<std::int32_t> positions() const {
    std::vector<std::int32_t> all;
    for (std::int64_t i = 0; document > 0 && i < batch * length; ++i)
      all.push_back(static_cast<std::int32_t>(i % length % document));
    return all;
  }
  std::string name() const {
    return fmt::format("B={} T={} H={} Hkv={} D={} {}{}{}", batch, length, heads, key_heads,
                       head_size, name_of(type),
                       window == 0 ? "" : fmt::format(" window={}", window),
                       document == 0 ? "" : fmt::format(" document={}", document));
  }
};

void run(const benchmark::Place& place, const Case& n, const benchmark::Limit& peak) {
  const std::int64_t all_heads = n.heads + 2 * n.key_heads;
  // q, k and v are columns of one matrix, as in the layers.
  const auto slices = [&](const Tensor& fused, std::int64_t first, std::int64_t heads) {
    return fused.slice(2, first, heads);
  };
  const Shape head_shape = {n.batch, n.length, n.heads, n.head_size};
  const RandomArray qkv(place, n.type, {n.batch, n.length, all_heads, n.head_size});
  const RandomArray dqkv(place, n.type, qkv.view().shape());
  const RandomArray out(place, n.type, head_shape);
  const RandomArray dout(place, n.type, head_shape);
  const RandomArray lse(place, DType::f32, {n.batch, n.heads, n.length});
  const Buffer memory(attention_scratch_bytes(head_shape, n.type, place.space()), place.space());
  Arena arena(memory);
  const Tensor q = slices(qkv, 0, n.heads);
  const Tensor k = slices(qkv, n.heads, n.key_heads);
  const Tensor v = slices(qkv, n.heads + n.key_heads, n.key_heads);
  AttentionOptions options;
  options.scale = 1.0F / std::sqrt(static_cast<float>(n.head_size));
  options.window = n.window;
  std::vector<std::int32_t> positions = n.positions();
  const Buffer placed(positions.size() * sizeof(std::int32_t), place.space());
  if (!positions.empty()) {
    options.positions = placed.tensor(DType::i32, {n.batch, n.length});
    copy(place.stream(), options.positions, Tensor(positions.data(), {n.batch, n.length}));
    place.stream().synchronize();
  }

  const auto report = [&](std::string_view direction, double products, const auto& body) {
    const auto timing = place.time(body);
    const double multiply_adds = static_cast<double>(n.batch * n.heads * n.head_size) * n.pairs();
    const double flops = 2 * products * multiply_adds / timing.seconds;
    place.report("attention", fmt::format("{} {}", direction, n.name()), timing,
                 {"flops_per_second", flops}, peak);
  };
  const Stream& stream = place.stream();
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

// Heads of GPT-2 124M and 1.5B and of Llama 1B and 8B; only one case in float32, which has no
// tensor cores.
void run_on_device(const benchmark::Place& place) {
  const benchmark::Limit peak = place.product_rate(DType::bf16);
  for (const Case& n :
       {Case{32, 1024, 12, 12, 64}, Case{8, 1024, 25, 25, 64}, Case{8, 4096, 12, 12, 64},
        Case{8, 2048, 32, 8, 64}, Case{2, 4096, 32, 8, 128}, Case{1, 16384, 32, 8, 128}}) {
    Case bf16 = n;
    bf16.type = DType::bf16;
    run(place, bf16, peak);
  }
  run(place, {8, 1024, 12, 12, 64, DType::f32}, place.product_rate(DType::f32));
}

void run(const benchmark::Place& place) {
  if (place.device()) return run_on_device(place);
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const benchmark::Limit peak = place.product_rate(type);
    for (std::int64_t length : {64, 256, 512, 1024})
      run(place, {2, length, 12, 12, 64, type}, peak);
    run(place, {1, 1024, 8, 2, 128, type}, peak);
    for (std::int64_t window : {0, 256}) run(place, {1, 2048, 12, 12, 64, type, window}, peak);
    for (std::int64_t document : {2048, 500, 128})
      run(place, {1, 2048, 12, 12, 64, type, 0, document}, peak);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return triax::benchmark::run_at_place(argc, argv, "Attention, forward and backward", run);
}
