// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/quantized/adamw_8bit.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/optimizer/update.hpp"
#include "kernels/optimizer/adamw_update.hpp"

namespace triax::cuda {
namespace {

constexpr int cells_at_once = 8;  // warps of a CUDA block, each with a cell
constexpr int lane_elements = static_cast<int>(cell_elements) / warp;
constexpr std::int64_t most_blocks = 4096;

struct Levels {
  float of[codes];
  explicit Levels(CodeMap map) { std::ranges::copy(dynamic_map(map).levels, of); }
};

// Scale of a cell, and its change. Bytes, for a cell is aligned to 4 only.
TRIAX_DEVICE inline float* scale_in(std::uint8_t* cell) {
  return reinterpret_cast<float*>(cell + cell_elements);
}

// Code of x in [-1, 1] by halving. `levels` from the code of zero on: magnitudes 0 to `last`.
template <CodeMap map>
TRIAX_DEVICE inline int searched_code(float x, const float* levels) {
  constexpr int last = codes - 1 - zero_code(map);
  const float* up = levels + zero_code(map);
  const float size = std::fabs(x);
  int m = 0;
  TRIAX_UNROLL
  for (int step = 128; step > 0; step /= 2)
    if (m + step <= last && size > 0.5F * (up[m + step - 1] + up[m + step])) m += step;
  if (map == CodeMap::positive || !std::signbit(x)) return zero_code(map) + m;
  return 127 - (m < 127 ? m : 127);
}

TRIAX_DEVICE inline float largest_of_warp(const Block& block, const float* values) {
  float most = 0.0F;
  TRIAX_UNROLL
  for (int j = 0; j < lane_elements; ++j) most = std::fmax(most, std::fabs(values[j]));
  for (int mask = warp / 2; mask > 0; mask /= 2)
    most = std::fmax(most, block.shuffle_xor(most, mask));
  return most;
}

// A warp per cell; lane l has elements l, l + 32, ...
template <class G, class W, class Rounding>
struct StepCells {
  static constexpr int max_threads = cells_at_once * warp;
  float* parameter;
  W* weights;
  const G* gradient;
  const float* factor;
  std::uint8_t* first;
  std::uint8_t* second;
  std::int64_t n, blocks;
  AdamRule<true> rule;
  float most;
  Rounding rounding;
  Levels signs, positive;

  template <CodeMap map>
  TRIAX_DEVICE void pack(const Block& block, std::uint8_t* cell, const float* values,
                         std::int64_t count, const float* levels) const {
    const float scale = largest_of_warp(block, values);
    const float divisor = scale > 0.0F ? scale : 1.0F;
    TRIAX_UNROLL
    for (int j = 0; j < lane_elements; ++j)
      if (const int i = j * warp + block.thread_x(); i < count)
        cell[i] = static_cast<std::uint8_t>(searched_code<map>(values[j] / divisor, levels));
    if (block.thread_x() == 0) *scale_in(cell) = scale;
  }

  TRIAX_DEVICE void step(const Block& block, std::int64_t cell, const float* levels) const {
    const Clip clip{*factor, most};
    std::uint8_t* of_m = first + cell * cell_bytes;
    std::uint8_t* of_v = second + cell * cell_bytes;
    const std::int64_t begin = cell * cell_elements;
    const std::int64_t count = cell_elements < n - begin ? cell_elements : n - begin;
    const float scale_m = *scale_in(of_m), scale_v = *scale_in(of_v);
    float m[lane_elements] = {}, v[lane_elements] = {};
    TRIAX_UNROLL
    for (int j = 0; j < lane_elements; ++j) {
      const int i = j * warp + block.thread_x();
      if (i >= count) continue;
      const std::int64_t at = begin + i;
      float p = parameter[at];
      m[j] = levels[of_m[i]] * scale_m;
      v[j] = levels[codes + of_v[i]] * scale_v;
      rule(clip(widen(gradient[at])), p, m[j], v[j]);
      parameter[at] = p;
      if constexpr (!std::is_same_v<W, float>) {
        rounding.template round<W, 1>(&p, at);
        narrow(weights[at], p);
      }
    }
    pack<CodeMap::signs>(block, of_m, m, count, levels);
    pack<CodeMap::positive>(block, of_v, v, count, levels + codes);
  }

  TRIAX_DEVICE void operator()(const Block& block) const {
    auto* levels = block.shared<float>();
    const int thread = block.thread_y() * warp + block.thread_x();
    static_assert(max_threads == codes);
    levels[thread] = signs.of[thread];
    levels[codes + thread] = positive.of[thread];
    block.sync();
    if (*factor != *factor) return;
    const std::int64_t cells = cells_of(n);
    for (std::int64_t cell = block.index_x() * cells_at_once + block.thread_y(); cell < cells;
         cell += blocks * cells_at_once)
      step(block, cell, levels);
  }
};

struct Unpack {
  float* to;
  const std::uint8_t* cells;
  std::int64_t first;
  Levels levels;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) {
      const std::int64_t at = first + i + j;
      const std::uint8_t* cell = cells + at / cell_elements * cell_bytes;
      const float scale = *reinterpret_cast<const float*>(cell + cell_elements);
      to[i + j] = levels.of[cell[at % cell_elements]] * scale;
    }
  }
};

}  // namespace

void adamw_8bit(const Stream& stream, const Tensor& parameter, const Tensor& weights,
                const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
                const AdamWOptions& options) {
  check_steps(options);
  check(options.decoupled, "8-bit Adam with decay in the gradient");
  check(weights.empty() || weights.dtype() != DType::f32, "a copy of the weights in float32");
  const std::int64_t n = parameter.elements();
  float* p = device_elements(parameter, n, "parameter");
  const float* clip = device_elements(factor, 1, "factor");
  auto* first = device_elements<std::uint8_t>(m, packed_bytes(n), "m");
  auto* second = device_elements<std::uint8_t>(v, packed_bytes(n), "v");
  const std::int64_t blocks =
      std::min(most_blocks, (cells_of(n) + cells_at_once - 1) / cells_at_once);
  const LaunchShape shape{.blocks_x = blocks,
                          .threads_x = warp,
                          .threads_y = cells_at_once,
                          .shared_bytes = 2 * codes * sizeof(float)};
  const auto most = static_cast<float>(options.clip_value);
  with_type(gradient.dtype(), [&]<class G>(Type<G>) {
    const G* g = device_elements<G>(gradient, n, "gradient");
    with_type(weights.empty() ? DType::f32 : weights.dtype(), [&]<class W>(Type<W>) {
      W* copy = weights.empty() ? nullptr : device_elements<W>(weights, n, "weights");
      const auto launch_with = [&](const auto& rounding) {
        using Rounding = std::remove_cvref_t<decltype(rounding)>;
        launch(stream, shape,
               StepCells<G, W, Rounding>{p, copy, g, clip, first, second, n, blocks,
                                         AdamRule<true>(options), most, rounding,
                                         Levels(CodeMap::signs), Levels(CodeMap::positive)});
      };
      if constexpr (!std::is_same_v<W, float>)
        if (options.stochastic) return launch_with(Stochastically{*options.stochastic});
      launch_with(ToNearest{});
    });
  });
}

// `to` may be host memory: pinned memory has the same address on the device.
void unpack_state(const Stream& stream, const Tensor& to, const Tensor& packed, std::int64_t first,
                  CodeMap map) {
  const std::int64_t n = to.elements();
  pointwise<1>(stream, n, true,
               Unpack{triax::elements_of(to, n, "to"),
                      device_elements<std::uint8_t>(packed, packed.elements(), "packed"), first,
                      Levels(map)});
}

}  // namespace triax::cuda
