// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/attention_kind.hpp"

#include <algorithm>

#include "src/model/families/families.hpp"

namespace triax {
namespace {

bool listed(const std::vector<bool>& blocks, int block, bool otherwise) {
  return blocks.empty() ? otherwise : blocks[static_cast<std::size_t>(block)];
}

}  // namespace

AttentionKind attention_kind(const ModelConfig& model, int block) {
  const bool windowed = model.window > 0 && listed(model.windowed, block, false);
  const bool turned = family_of(model).block.rotary && listed(model.rotary, block, true);
  const int own = windowed && model.local_rope_theta > 0.0 ? 1 : 0;
  return {windowed ? model.window : 0, turned ? own : -1};
}

std::vector<Rotary> rotaries_of(const ModelConfig& model) {
  if (!family_of(model).block.rotary) return {};
  const int size = model.rotary_size > 0 ? model.rotary_size : model.head_size;
  std::vector<Rotary> rotaries = {{model.rope_theta, model.rope_scaling, size}};
  if (model.local_rope_theta > 0.0) rotaries.push_back({model.local_rope_theta, {}, size});
  return rotaries;
}

double keys_per_query(const ModelConfig& model, int block, std::int64_t length) {
  const auto t = static_cast<double>(length);
  const auto window = static_cast<double>(attention_kind(model, block).window);
  if (window == 0.0 || window >= t) return t / 2;  // half of the square
  return window - window * window / (2 * t);
}

}  // namespace triax
