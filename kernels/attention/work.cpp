#include "kernels/attention/work.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>

namespace triax {
namespace attention {
namespace {

std::int64_t workers() {
  return Kokkos::DefaultHostExecutionSpace().concurrency();
}

}  // namespace

Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check(q.rank() == 4 && k.rank() == 4 && v.shape() == k.shape(), "attention of {}, {} and {}",
        q.shape(), k.shape(), v.shape());
  const Sizes n{q.size(0), q.size(1), q.size(2), k.size(2), q.size(3)};
  check(k.shape() == Shape({n.batch, n.length, n.key_heads, n.head_size}),
        "attention of {} with keys {}", q.shape(), k.shape());
  check(n.head_size >= 1 && n.key_heads >= 1 && n.heads % n.key_heads == 0,
        "attention of {} with keys {}", q.shape(), k.shape());
  check(options.dropout.probability < 1.0F, "dropout with probability {}",
        options.dropout.probability);
  check(options.dropout.probability <= 0.0F || options.total_heads >= options.first_head + n.heads,
        "heads from {} of {} in all", options.first_head, options.total_heads);
  return n;
}

void check_views(std::initializer_list<const Tensor*> views, const Shape& shape, DType dtype) {
  for (const Tensor* view : views) {
    check(view->shape() == shape, "attention with {} instead of {}", view->shape(), shape);
    check(view->dtype() == dtype, "attention with {} where there must be {}",
          name_of(view->dtype()), name_of(dtype));
    check(view->space() == MemorySpace::host, "attention on the host of memory elsewhere");
    check(view->size(view->rank() - 1) <= 1 || view->stride(view->rank() - 1) == 1,
          "attention of a view with elements {} apart", view->stride(view->rank() - 1));
  }
}

float* lse_of(const Tensor& lse, std::int64_t b, std::int64_t h) {
  return lse.as<float>() + b * lse.stride(0) + h * lse.stride(1);
}

void for_each_item(const char* name, std::int64_t count,
                   const std::function<void(std::int64_t, std::int64_t)>& body) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const std::int64_t stride = workers();
  const auto* call = &body;
  Kokkos::parallel_for(name, Kokkos::RangePolicy<Space>(0, stride), [=](std::int64_t worker) {
    for (std::int64_t item = worker; item < count; item += stride) (*call)(worker, item);
  });
  Space().fence();
}

Scratch::Scratch(Arena& arena, std::string_view name, std::int64_t floats) : floats_(floats) {
  const Tensor memory = arena.take(name, DType::f32, {workers(), floats});
  if (!arena.measuring()) data_ = memory.as<float>();
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

}  // namespace attention

std::size_t attention_scratch_bytes(std::int64_t sequence_length, std::int64_t head_size) {
  Arena forward;
  const attention::ForwardScratch forward_scratch(forward, sequence_length, head_size);
  Arena backward;
  const attention::BackwardScratch backward_scratch(backward, sequence_length, head_size);
  return std::max(forward.high_water(), backward.high_water());
}

}  // namespace triax
