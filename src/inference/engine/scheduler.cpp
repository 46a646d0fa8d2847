// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/scheduler.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "src/inference/engine/ngram_draft.hpp"

namespace triax {

void Scheduler::remove(const Sequence& sequence) {
  check(!sequence.in_step, "request {} is closed within a step", sequence.request.id);
  for (Sequences* list : {&running_, &waiting_})
    for (auto at = list->begin(); at != list->end(); ++at)
      if (at->get() == &sequence) {
        free_blocks(**at);
        list->erase(at);
        return;
      }
}

void Scheduler::free_blocks(Sequence& sequence) {
  for (auto at = sequence.blocks.rbegin(); at != sequence.blocks.rend(); ++at) pool_.release(*at);
  sequence.blocks.clear();
  sequence.computed = sequence.named = 0;
  sequence.content = 0;
}

void Scheduler::schedule(Sequence& sequence, std::int64_t tokens,
                         std::vector<std::int32_t> guesses) {
  tokens += std::ssize(guesses);
  chunks_.push_back({&sequence, tokens, std::move(guesses)});
  sequence.in_step = true;
  ++in_steps_;
  budget_ -= tokens;
}

// Guesses cost no other request its token or its blocks, and do not go beyond the answer.
std::vector<std::int32_t> Scheduler::guesses_for(const Sequence& sequence) const {
  const std::int64_t of_answer = sequence.request.max_tokens - sequence.answer_length() - 1;
  const std::int64_t of_budget = budget_ - 1 - running();
  const std::int64_t of_blocks =
      (std::ssize(sequence.blocks) + pool_.free_blocks() - running()) * limits_.block_tokens -
      sequence.length();
  const std::int64_t most = std::min({limits_.speculate, of_answer, of_budget, of_blocks,
                                      limits_.context - sequence.length() - 1});
  return most > 0 ? ngram_draft(sequence.tokens, most) : std::vector<std::int32_t>();
}

// Victim: the newest request that is in no step, if it is newer than `for_this`.
bool Scheduler::preempt_newest(const Sequence& for_this) {
  for (auto at = running_.rbegin(); at != running_.rend(); ++at) {
    Sequence& victim = **at;
    if (&victim == &for_this) return false;
    if (victim.in_step || victim.blocks.empty()) continue;
    free_blocks(victim);
    waiting_.push_front(std::move(*at));
    running_.erase(std::next(at).base());
    ++preemptions_;
    starved_ = true;
    return true;
  }
  return false;
}

bool Scheduler::extend(Sequence& sequence, std::int64_t end) {
  const std::int64_t more = blocks_for(end) - std::ssize(sequence.blocks);
  while (pool_.free_blocks() < more)
    if (!preempt_newest(sequence)) return false;
  for (std::int64_t i = 0; i < more; ++i) sequence.blocks.push_back(pool_.take());
  return true;
}

// Requests that need one token, or those that need more.
void Scheduler::plan_running(bool decoding) {
  for (auto at = running_.begin(); at != running_.end() && has_room();) {
    Sequence& sequence = **at;
    const std::int64_t missing = sequence.missing();
    if (sequence.in_step || (missing == 1) != decoding) {
      ++at;
      continue;
    }
    const std::int64_t tokens = std::min(missing, budget_);
    auto guesses = decoding ? guesses_for(sequence) : std::vector<std::int32_t>();
    if (extend(sequence, sequence.computed + tokens + std::ssize(guesses)))
      schedule(sequence, tokens, std::move(guesses));
    else
      starved_ = true;  // newer ones in a step have the blocks: it goes on when they are done
    ++at;               // now: behind `sequence` others may have been preempted
  }
}

std::span<const std::int32_t> Scheduler::block_tokens(const Sequence& sequence,
                                                      std::int64_t block) const {
  return std::span(sequence.tokens)
      .subspan(static_cast<std::size_t>(block * limits_.block_tokens),
               static_cast<std::size_t>(limits_.block_tokens));
}

// Gives a waiting request the blocks that hold its beginning already. Its last token is computed in
// any case, for its logits.
void Scheduler::take_prefix(Sequence& sequence) {
  if (sequence.needs_all_rows()) return;
  while ((sequence.named + 1) * limits_.block_tokens < sequence.length()) {
    const auto found = pool_.find(sequence.content, block_tokens(sequence, sequence.named));
    if (!found) break;
    sequence.blocks.push_back(found->block);
    sequence.content = found->content;
    ++sequence.named;
  }
  sequence.computed = sequence.named * limits_.block_tokens;
}

void Scheduler::plan_waiting() {
  while (!waiting_.empty() && has_room() && running() < limits_.sequences) {
    Sequence& sequence = *waiting_.front();
    take_prefix(sequence);
    // All of its prompt must fit: half a prompt would only be preempted.
    const std::int64_t more = blocks_for(sequence.length()) - std::ssize(sequence.blocks);
    if (pool_.free_blocks() < more) return free_blocks(sequence);
    prefix_hit_tokens_ += sequence.computed;
    const std::int64_t tokens = std::min(sequence.missing(), budget_);
    extend(sequence, sequence.computed + tokens);
    schedule(sequence, tokens);
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

std::vector<ScheduledChunk> Scheduler::plan(std::int64_t most) {
  chunks_.clear();
  most_ = most;
  budget_ = limits_.tokens_per_step;
  starved_ = false;
  plan_running(/*decoding=*/true);
  plan_running(/*decoding=*/false);
  if (!starved_) plan_waiting();
  check(in_steps_ > 0 || (running_.empty() && waiting_.empty()),
        "{} requests wait and none fits into the KV cache", running() + waiting());
  return chunks_;
}

void Scheduler::computed(const ScheduledChunk& chunk) {
  Sequence& sequence = *chunk.sequence;
  sequence.in_step = false;
  --in_steps_;
  const std::int64_t known = sequence.computed + chunk.tokens - std::ssize(chunk.guesses);
  sequence.computed = chunk.guesses.empty() ? known : std::max(known, sequence.length() - 1);
  while ((sequence.named + 1) * limits_.block_tokens <= sequence.computed) {
    sequence.content = pool_.name(sequence.blocks[static_cast<std::size_t>(sequence.named)],
                                  sequence.content, block_tokens(sequence, sequence.named));
    ++sequence.named;
  }
}

}  // namespace triax
