// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/quantized/adamw_8bit.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/adamw_update.hpp"
#include "kernels/optimizer/quantized/cell_loops.hpp"
#include "kernels/optimizer/update.hpp"

namespace triax {
namespace {

constexpr std::int64_t task_cells = 32;  // per parallel task

// Cells of both moments, and their tables.
struct Moments {
  std::uint8_t* m;
  std::uint8_t* v;
  const DynamicMap& signs;
  const DynamicMap& positive;
};

// Steps n parameters of a cell. `copy`: their 16-bit weights, or null.
template <class Rule, class G, class W>
void step_cell(const Rule& rule, const Clip& clip, float* p, const G* g, W* copy,
               const Moments& cell, std::int64_t n) {
  alignas(64) float m[cell_elements];
  alignas(64) float v[cell_elements];
  unpack_cell(m, cell.m, 0, n, cell.signs.levels.data());
  unpack_cell(v, cell.v, 0, n, cell.positive.levels.data());
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    rule(clip(g[i]), p[i], m[i], v[i]);
    if constexpr (!std::is_same_v<W, float>) copy[i] = p[i];
  }
  pack_cell<CodeMap::signs>(cell.m, m, n, largest_of(m, n), cell.signs);
  pack_cell<CodeMap::positive>(cell.v, v, n, largest_of(v, n), cell.positive);
}

}  // namespace

void adamw_8bit(const Stream& stream, const Tensor& parameter, const Tensor& weights,
                const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
                const AdamWOptions& options) {
  if (on_device(stream))
    return cuda::adamw_8bit(stream, parameter, weights, gradient, factor, m, v, options);
  check_steps(options);
  check(options.decoupled, "8-bit Adam with decay in the gradient");
  check(weights.empty() || weights.dtype() != DType::f32, "a copy of the weights in float32");
  const std::int64_t n = parameter.elements();
  float* p = elements_of(parameter, n, "parameter");
  const Moments all{elements_of<std::uint8_t>(m, packed_bytes(n), "m"),
                    elements_of<std::uint8_t>(v, packed_bytes(n), "v"), dynamic_map(CodeMap::signs),
                    dynamic_map(CodeMap::positive)};
  const AdamRule<true> rule(options);
  const Clip clip{*elements_of(factor, 1, "factor"), static_cast<float>(options.clip_value)};
  if (std::isnan(clip.factor)) return;
  const auto step = [&](const auto* g, auto* copy) {
    parallel_for_blocks(cells_of(n), task_cells, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t cell = begin; cell < end; ++cell) {
        const std::int64_t at = cell * cell_elements;
        const Moments here{all.m + cell * cell_bytes, all.v + cell * cell_bytes, all.signs,
                           all.positive};
        step_cell(rule, clip, p + at, g + at, copy == nullptr ? copy : copy + at, here,
                  std::min(cell_elements, n - at));
      }
    });
  };
  const auto step_and_round = [&](const auto* g, auto* copy) {
    if (!options.stochastic || copy == nullptr) return step(g, copy);
    step(g, static_cast<float*>(nullptr));
    round_stochastically(copy, p, n, *options.stochastic);
  };
  with_type(gradient.dtype(), [&]<class G>(Type<G>) {
    const G* g = elements_of<G>(gradient, n, "gradient");
    if (weights.empty()) return step_and_round(g, static_cast<float*>(nullptr));
    with_type(weights.dtype(),
              [&]<class W>(Type<W>) { step_and_round(g, elements_of<W>(weights, n, "weights")); });
  });
}

}  // namespace triax
