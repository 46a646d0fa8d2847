// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/block_pool.hpp"

#include "kernels/base/check.hpp"

namespace triax {

BlockPool::BlockPool(std::int64_t blocks, bool keeps_prefixes)
    : keeps_prefixes_(keeps_prefixes), states_(static_cast<std::size_t>(blocks)) {
  check(blocks >= 1, "a cache of {} blocks", blocks);
  for (std::int64_t block = 0; block < blocks; ++block) add_free(static_cast<std::int32_t>(block));
}

void BlockPool::add_free(std::int32_t block) {
  state(block).before = last_;
  state(block).after = -1;
  (last_ < 0 ? first_ : state(last_).after) = block;
  last_ = block;
  ++free_;
}

void BlockPool::remove_free(std::int32_t block) {
  const State& of = state(block);
  (of.before < 0 ? first_ : state(of.before).after) = of.after;
  (of.after < 0 ? last_ : state(of.after).before) = of.before;
  --free_;
}

void BlockPool::forget(State& of) {
  if (!of.content) return;
  contents_.erase(*of.content);
  of.content.reset();
}

std::int32_t BlockPool::take() {
  check(free_ > 0, "no block of the KV cache is free");
  const std::int32_t block = first_;
  remove_free(block);
  forget(state(block));
  state(block).uses = 1;
  return block;
}

void BlockPool::release(std::int32_t block) {
  check(state(block).uses > 0, "block {} released without a use", block);
  if (--state(block).uses == 0) add_free(block);
}

std::optional<BlockPool::Found> BlockPool::find(PrefixId parent,
                                                std::span<const std::int32_t> tokens) {
  const auto found = contents_.find({parent, {tokens.begin(), tokens.end()}});
  if (found == contents_.end()) return {};
  const Content& content = found->second;
  if (state(content.block).uses++ == 0) remove_free(content.block);
  return Found{content.block, content.id};
}

PrefixId BlockPool::name(std::int32_t block, PrefixId parent,
                         std::span<const std::int32_t> tokens) {
  if (!keeps_prefixes_) return 0;
  check(state(block).uses > 0, "block {} is named without a use", block);
  const auto [at, added] =
      contents_.try_emplace({parent, {tokens.begin(), tokens.end()}}, Content{block, next_id_});
  if (added) {
    ++next_id_;
    forget(state(block));
    state(block).content = at;
  }
  return at->second.id;
}

void BlockPool::forget() {
  for (State& of : states_) forget(of);
}

}  // namespace triax
