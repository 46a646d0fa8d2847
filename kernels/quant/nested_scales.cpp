// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/nested_scales.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/rows.hpp"
#include "kernels/optimizer/quantized/dynamic_map.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/quant/four_bit.hpp"

namespace triax {
namespace {

constexpr std::int64_t task_scales = 4096;  // per parallel task

// Code of the nearest level; of two that are equally near, the lower.
std::uint8_t nearest(float x, const float* levels) {
  std::int32_t low = 0, high = codes - 1;  // the thresholds below x are those of [0, low)
  while (low < high) {
    const std::int32_t middle = (low + high) / 2;
    if (x > (levels[middle] + levels[middle + 1]) / 2.0F)
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<std::uint8_t>(low);
}

}  // namespace

float quantize_scales(const Stream& stream, const Tensor& codes_out, const Tensor& outer,
                      const Tensor& scales) {
  check(stream.space() == MemorySpace::host, "4-bit weights on a device");
  const std::int64_t n = scales.elements();
  const float* scale = elements_of(scales, n, "scales");
  std::uint8_t* code = elements_of<std::uint8_t>(codes_out, n, "codes");
  float* most = elements_of(outer, groups_of(n, nested_group), "outer");
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) sum += scale[i];
  const float offset = n > 0 ? static_cast<float>(sum / static_cast<double>(n)) : 0.0F;
  const float* levels = dynamic_map(CodeMap::signs).levels.data();
  parallel_for(groups_of(n, nested_group), [=](std::int64_t g) {
    const std::int64_t begin = g * nested_group, end = std::min(n, begin + nested_group);
    float largest = 0.0F;
    for (std::int64_t i = begin; i < end; ++i)
      largest = std::max(largest, std::abs(scale[i] - offset));
    most[g] = largest;
    const float divisor = std::max(largest, 1e-38F);
    for (std::int64_t i = begin; i < end; ++i)
      code[i] = nearest((scale[i] - offset) / divisor, levels);
  });
  return offset;
}

void dequantize_scales(const Stream& stream, const Tensor& out, const Tensor& codes,
                       const Tensor& outer, std::int64_t first, float offset) {
  check(stream.space() == MemorySpace::host, "4-bit weights on a device");
  const std::int64_t n = out.elements();
  check(first >= 0 && groups_of(first + n, nested_group) <= outer.elements(),
        "{} scales from {} of {} outer scales", n, first, outer.elements());
  float* to = elements_of(out, n, "out");
  const std::uint8_t* code = elements_of<std::uint8_t>(codes, n, "codes");
  const float* scale = elements_of(outer, outer.elements(), "outer");
  const float* levels = dynamic_map(CodeMap::signs).levels.data();
  parallel_for_blocks(n, task_scales, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      to[i] = levels[code[i]] * scale[(first + i) / nested_group] + offset;
  });
}

}  // namespace triax
