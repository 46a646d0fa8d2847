// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks of the paged KV cache: which are free, and which hold the beginning of a text that others
// may share (prefix cache).
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace triax {

/// Identity of the content of a full block together with all blocks before it: 0 before the first.
/// A content that was evicted and computed again has another.
using PrefixId = std::uint64_t;

class BlockPool {
 public:
  /// `blocks` >= 1, all free. `keeps_prefixes`: contents stay in free blocks until these are
  /// needed; else no block is ever found again.
  BlockPool(std::int64_t blocks, bool keeps_prefixes);

  std::int64_t blocks() const { return std::ssize(states_); }
  /// Blocks that take() may return, contents kept or not.
  std::int64_t free_blocks() const { return free_; }

  /// A block for new content, used once. The free block that was released longest ago; its content
  /// is forgotten. Requires free_blocks() > 0.
  std::int32_t take();
  /// Ends one use of a block. Release the blocks of a sequence from its last to its first, so that
  /// the tails of texts are forgotten first.
  void release(std::int32_t block);

  /// The block that holds `tokens` behind the content `parent`, used once more.
  struct Found {
    std::int32_t block;
    PrefixId content;
  };
  std::optional<Found> find(PrefixId parent, std::span<const std::int32_t> tokens);
  /// Names the content of a full, used block. Returns its identity, which is that of another block
  /// if one has this content already; 0 if the pool keeps no prefixes.
  PrefixId name(std::int32_t block, PrefixId parent, std::span<const std::int32_t> tokens);
  /// Forgets all contents.
  void forget();

 private:
  // Contents are compared token by token: no hash can mix up two texts.
  struct Key {
    PrefixId parent;
    std::vector<std::int32_t> tokens;
    auto operator<=>(const Key&) const = default;
  };
  struct Content {
    std::int32_t block;
    PrefixId id;
  };
  using Contents = std::map<Key, Content>;
  struct State {
    int uses = 0;
    std::int32_t before = -1, after = -1;  // neighbours in the list of free blocks
    std::optional<Contents::iterator> content;
  };
  State& state(std::int32_t block) { return states_[static_cast<std::size_t>(block)]; }
  void add_free(std::int32_t block);     // as the one released last
  void remove_free(std::int32_t block);  // from anywhere in the list
  void forget(State& of);

  bool keeps_prefixes_;
  std::vector<State> states_;
  std::int32_t first_ = -1, last_ = -1;  // free blocks, released longest ago and last
  std::int64_t free_ = 0;
  Contents contents_;
  PrefixId next_id_ = 1;
};

}  // namespace triax
