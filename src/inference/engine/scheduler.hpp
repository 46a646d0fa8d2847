// SPDX-License-Identifier: Apache-2.0
#pragma once
// Continuous batching: which tokens of which requests a step computes, and which blocks of the KV
// cache they get.
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "src/inference/engine/sequence.hpp"

namespace triax {

struct SchedulerLimits {
  std::int64_t block_tokens = 16;
  std::int64_t tokens_per_step = 2048;  // all requests together
  std::int64_t sequences = 256;         // running at once
  std::int64_t speculate = 0;           // most guesses per request
  std::int64_t context = 1 << 30;       // longest text
};

/// Tokens [sequence.computed, sequence.computed + tokens) of a step; the guesses are the last.
struct ScheduledChunk {
  Sequence* sequence;
  std::int64_t tokens;
  std::vector<std::int32_t> guesses = {};  // tokens that may follow the text
};

class Scheduler {
 public:
  Scheduler(const SchedulerLimits& limits, BlockPool& pool) : limits_(limits), pool_(pool) {}

  void add(std::unique_ptr<Sequence> sequence) { waiting_.push_back(std::move(sequence)); }
  /// Closes a request, which is in no step, and frees its blocks.
  void remove(const Sequence& sequence);

  /// Chunks of the next step, with blocks for all their tokens, of at most `most` requests that are
  /// in no other step; empty only if no request is open or some are in a step.
  /// Requests that need one token come first, then prompts under way, oldest first, then waiting
  /// ones in their order, as far as the token budget and the blocks go. Where blocks run out, the
  /// newest request that is not part of the step, and is newer than the one in need, loses all its
  /// blocks and waits again, first in the queue: it is computed again from its tokens.
  std::vector<ScheduledChunk> plan(std::int64_t most);
  /// After the chunk was computed: moves on, and names the blocks that are full now. The request is
  /// in no step any more. It has got the tokens that follow: guesses that are not among them count
  /// as not computed.
  void computed(const ScheduledChunk& chunk);

  std::int64_t waiting() const { return std::ssize(waiting_); }
  std::int64_t running() const { return std::ssize(running_); }
  std::int64_t preemptions() const { return preemptions_; }
  std::int64_t prefix_hit_tokens() const { return prefix_hit_tokens_; }

 private:
  using Sequences = std::list<std::unique_ptr<Sequence>>;
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + limits_.block_tokens - 1) / limits_.block_tokens;
  }
  void free_blocks(Sequence& sequence);
  // Blocks for all tokens up to `end`, preempting others; false: there are none.
  bool extend(Sequence& sequence, std::int64_t end);
  bool preempt_newest(const Sequence& for_this);
  void schedule(Sequence& sequence, std::int64_t tokens, std::vector<std::int32_t> guesses = {});
  std::vector<std::int32_t> guesses_for(const Sequence& sequence) const;
  bool has_room() const { return budget_ > 0 && std::ssize(chunks_) < most_; }
  void plan_running(bool decoding);
  void plan_waiting();
  void take_prefix(Sequence& sequence);
  std::span<const std::int32_t> block_tokens(const Sequence& sequence, std::int64_t block) const;

  SchedulerLimits limits_;
  BlockPool& pool_;
  Sequences waiting_, running_;  // running_: oldest first
  std::vector<ScheduledChunk> chunks_;
  std::int64_t budget_ = 0;  // tokens left in the step
  std::int64_t most_ = 0;    // requests of the step
  std::int64_t in_steps_ = 0;
  bool starved_ = false;  // blocks ran out in the step: no waiting request gets some
  std::int64_t preemptions_ = 0, prefix_hit_tokens_ = 0;
};

}  // namespace triax
