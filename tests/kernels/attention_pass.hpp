// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention, forward and backward, on the host or on a device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/reference/attention.hpp"
#include "kernels/reference/dropout.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax::test {

/// One forward and one backward call with inputs of its own. Queries, keys and values are slices of
/// one matrix (fused) or separate tensors; so are their gradients.
class AttentionPass {
 public:
  explicit AttentionPass(const reference::AttentionSizes& sizes, bool fused = true,
                         DType dtype = DType::f32)
      : n(sizes),
        inputs_(dtype, random_values(qkv_elements(), 7)),
        gradients_(dtype, qkv_elements(), nan),
        out_(dtype, head_elements(), nan),
        dout_(dtype, random_values(head_elements(), 8)),
        lse_(static_cast<std::size_t>(n.B * n.T * n.H), nan),
        scratch_(attention_scratch_bytes({n.B, n.T, n.H, n.D}, dtype, space()), space()) {
    std::tie(q, k, v) = split(inputs_, fused);
    std::tie(dq, dk, dv) = split(gradients_, fused);
    out = out_.tensor({n.B, n.T, n.H, n.D});
    dout = dout_.tensor(out.shape());
    lse = Tensor(lse_.data(), {n.B, n.H, n.T});
    options.scale = 1.0F / std::sqrt(static_cast<float>(n.D));
    spoil_scratch();
  }
  AttentionPass(const reference::AttentionSizes& sizes, DType dtype)
      : AttentionPass(sizes, true, dtype) {}

  void forward() {
    Arena arena(scratch_);
    run(attention_forward, out, lse, q, k, v, options, arena);
    EXPECT_EQ(arena.used(), 0U);
  }
  void backward() {
    Arena arena(scratch_);
    run(attention_backward, dq, dk, dv, dout, out, lse, q, k, v, options, arena);
    EXPECT_EQ(arena.used(), 0U);
  }

  const Buffer& scratch() const { return scratch_; }

  reference::AttentionSizes n;
  AttentionOptions options;
  Tensor q, k, v, dq, dk, dv, out, dout, lse;

 private:
  // Unwritten memory shows as NaN, and so does scratch memory that is read before it is written.
  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();

  std::int64_t head_elements() const { return n.B * n.T * n.H * n.D; }
  std::int64_t qkv_elements() const { return n.B * n.T * (n.H + 2 * n.Hkv) * n.D; }

  std::tuple<Tensor, Tensor, Tensor> split(Array& memory, bool fused) const {
    if (fused) {
      const Tensor whole = memory.tensor({n.B, n.T, n.H + 2 * n.Hkv, n.D});
      return {whole.slice(2, 0, n.H), whole.slice(2, n.H, n.Hkv),
              whole.slice(2, n.H + n.Hkv, n.Hkv)};
    }
    const std::int64_t keys = n.B * n.T * n.Hkv * n.D;
    const auto part = [&](std::int64_t first, std::int64_t count, std::int64_t heads) {
      return memory.tensor().slice(0, first, count).reshape({n.B, n.T, heads, n.D});
    };
    return {part(0, head_elements(), n.H), part(head_elements(), keys, n.Hkv),
            part(head_elements() + keys, keys, n.Hkv)};
  }

  void spoil_scratch() {
    const auto count = static_cast<std::int64_t>(scratch_.bytes() / sizeof(float));
    std::vector<float> values(static_cast<std::size_t>(count), nan);
    const Stream stream(space());
    copy(stream, scratch_.tensor(DType::f32, {count}), Tensor(values.data(), {count}));
    stream.synchronize();
  }

  Array inputs_, gradients_, out_, dout_;
  std::vector<float> lse_;
  Buffer scratch_;
};

/// Window, soft cap and positions of `options` as the oracle takes them.
inline reference::AttentionLimits limits_of(const AttentionOptions& options) {
  reference::AttentionLimits limits{options.window, options.soft_cap};
  const Tensor& positions = options.positions;
  for (std::int64_t i = 0; !positions.empty() && i < positions.elements(); ++i)
    limits.positions.push_back(positions.as<std::int32_t>()[i]);
  return limits;
}

/// Dropout's factor for each probability, by the definition in kernels/random/dropout_mask.hpp.
inline reference::Values keep_of(const reference::AttentionSizes& n,
                                 const AttentionOptions& options) {
  reference::Values keep;
  for (std::int64_t b = 0; b < n.B; ++b)
    for (std::int64_t h = 0; h < n.H; ++h)
      for (std::int64_t i = 0; i < n.T; ++i)
        for (std::int64_t j = 0; j < n.T; ++j) {
          const std::int64_t head =
              (options.first_batch + b) * options.total_heads + options.first_head + h;
          const std::int64_t index = (head * n.T + i) * n.T + j;
          keep.push_back(reference::dropout_factor(options.dropout, index));
        }
  return keep;
}

}  // namespace triax::test
