// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/work.hpp"

#include <algorithm>

#include "kernels/parallel/parallel.hpp"

namespace triax::attention {

float* lse_of(const Tensor& lse, std::int64_t b, std::int64_t h) {
  return lse.as<float>() + b * lse.stride(0) + h * lse.stride(1);
}

std::int64_t workers_for(std::int64_t items) {
  return std::min(host_concurrency(), items);
}

void for_each_item(std::int64_t count,
                   const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t workers = workers_for(count);
  const auto* call = &body;
  parallel_for(workers, [=](std::int64_t worker) {
    for (std::int64_t item = worker; item < count; item += workers) (*call)(worker, item);
  });
}

Scratch::Scratch(Arena& arena, std::int64_t workers, std::string_view name, std::int64_t floats)
    : floats_(floats) {
  const Tensor memory = arena.take(name, DType::f32, {workers, floats});
  data_ = memory.as<float>();
}

const float* fill_keep(float* keep, const AttentionOptions& options, const Sizes& n, std::int64_t b,
                       std::int64_t h, std::int64_t i0, std::int64_t j0) {
  if (options.dropout.probability <= 0.0F) return nullptr;
  const std::int64_t row =
      ((options.first_batch + b) * options.total_heads + options.first_head + h) * n.length;
  dropout_tile(keep, options.dropout, (row + i0) * n.length + j0, n.length,
               std::min(tile_size, n.length - i0), std::min(tile_size, n.length - j0));
  return keep;
}

}  // namespace triax::attention
