// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/paged_engine.hpp"

#include <algorithm>

#include "src/inference/engine/answer_form.hpp"
#include "src/inference/engine/request_check.hpp"
#include "src/inference/sampling/choose_token.hpp"

namespace triax {
namespace {

SchedulerLimits limits_of(const EngineOptions& options, std::int64_t context) {
  return {.block_tokens = options.block_tokens,
          .tokens_per_step = options.tokens_per_step,
          .sequences = std::min(options.sequences, options.tokens_per_step),
          .speculate = options.speculate,
          .context = context};
}

}  // namespace

PagedEngine::PagedEngine(PagedModel& model, const EngineOptions& options, Announce announce,
                         TokenBytes token_bytes)
    : model_(model),
      announce_(std::move(announce)),
      pool_(model.blocks(), options.prefix_cache),
      scheduler_(limits_of(options, model.model().context()), pool_),
      constraints_(std::move(token_bytes)) {}

void PagedEngine::submit(GenerationRequest request) {
  check_request(request, context(), vocabulary());
  if (open_.contains(request.id))
    throw UsageError(fmt::format("request {} is open already", request.id), {}, "Number it anew");
  auto constraint = constraints_.make(request.constraint);
  auto sequence = std::make_unique<Sequence>(std::move(request), std::move(constraint));
  open_[sequence->request.id] = sequence.get();
  scheduler_.add(std::move(sequence));
}

void PagedEngine::cancel(std::uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  Sequence& sequence = *found->second;
  open_.erase(found);
  if (sequence.in_step)
    sequence.cancelled = true;  // its blocks are in use
  else
    scheduler_.remove(sequence);
}

// Batch and logit rows from the chunks.
void PagedEngine::fill(Flight& flight) {
  StepBatch& batch = flight.batch;
  for (const auto& [sequence, tokens, guesses] : flight.chunks) {
    const std::int64_t first = sequence->computed, end = first + tokens;
    batch.chunks.push_back({tokens, first, std::ssize(batch.tables)});
    batch.tables.insert(batch.tables.end(), sequence->blocks.begin(), sequence->blocks.end());
    for (std::int64_t position = first; position < end; ++position) {
      const bool next = position + 1 >= sequence->length() && sequence->request.max_tokens > 0;
      const std::int64_t guess = position - sequence->length();
      const std::int32_t token = guess < 0 ? sequence->tokens[static_cast<std::size_t>(position)]
                                           : guesses[static_cast<std::size_t>(guess)];
      const bool scored = sequence->scores_prompt() && position + 1 < sequence->prompt_length() &&
                          position >= std::ssize(sequence->prompt_likelihoods);
      if (next || scored) {
        batch.logit_rows.push_back(static_cast<std::int32_t>(batch.rows()));
        flight.logit_rows.push_back({sequence, position, token});
      }
      if (sequence->pools(position)) {
        batch.hidden_rows.push_back(static_cast<std::int32_t>(batch.rows()));
        flight.hidden_rows.push_back(sequence);
      }
      batch.tokens.push_back(token);
      batch.positions.push_back(static_cast<std::int32_t>(position));
    }
  }
}

bool PagedEngine::start_flight() {
  const std::int64_t stages = model_.model().grid().shape().pipeline;
  const std::int64_t open = scheduler_.running() + scheduler_.waiting();
  Flight flight{scheduler_.plan((open + stages - 1) / stages), {}, {}, {}};
  if (flight.chunks.empty()) return false;
  fill(flight);
  if (announce_) announce_(flight.batch);
  model_.start(flight.batch);
  flights_.push_back(std::move(flight));
  return true;
}

GenerationOutput& PagedEngine::output_of(const Sequence& sequence) {
  const std::uint64_t id = sequence.request.id;
  if (outputs_.empty() || outputs_.back().id != id) outputs_.push_back({.id = id});
  return outputs_.back();
}

void PagedEngine::take_logits(const LogitRow& row, std::span<float> logits) {
  Sequence& sequence = *row.sequence;
  if (sequence.cancelled || sequence.finished) return;
  if (row.position + 1 >= sequence.prompt_length() && sequence.request.max_tokens > 0) {
    // A guess counts if it is the token that was drawn, and so were those before it.
    const bool follows =
        row.position + 1 == sequence.length() && sequence.tokens.back() == row.token;
    if (follows && row.position > sequence.computed) ++accepted_tokens_;
    if (follows) take_next(sequence, logits);
    return;
  }
  if (const std::string failure = failure_of(logits, {}); !failure.empty())
    return fail(sequence, fmt::format("{} (after token {})", failure, row.position));
  const std::int32_t token = sequence.tokens[static_cast<std::size_t>(row.position + 1)];
  sequence.prompt_likelihoods.push_back(
      likelihood_of(logits, token, std::max(0, sequence.request.log_probabilities)));
}

void PagedEngine::fail(Sequence& sequence, std::string failure) {
  sequence.finished = true;
  GenerationOutput& output = output_of(sequence);
  output.finished = FinishReason::error;
  output.error = std::move(failure);
}

void PagedEngine::take_hidden(Sequence& sequence, std::span<const float> hidden) {
  if (sequence.cancelled || sequence.finished) return;
  sequence.hidden_sum.resize(hidden.size());
  for (std::size_t i = 0; i < hidden.size(); ++i) sequence.hidden_sum[i] += hidden[i];
  ++sequence.pooled;
}

void PagedEngine::take_next(Sequence& sequence, std::span<float> logits) {
  const GenerationRequest& request = sequence.request;
  const std::int64_t index = sequence.answer_length();
  GenerationOutput& output = output_of(sequence);
  const auto mask = mask_of(sequence.constraint.get(), request);
  if (const std::string failure = failure_of(logits, mask); !failure.empty())
    return fail(sequence, fmt::format("{} (token {} of the answer)", failure, index));
  const std::int32_t token = next_token(logits, request.choice, request.prompt, sequence.answer(),
                                        request.banned_at(index), mask ? &*mask : nullptr);
  sequence.tokens.push_back(token);
  ++answer_tokens_;
  if (index == 0) {
    prompt_tokens_ += sequence.prompt_length();
    output.prompt = sequence.prompt_likelihoods;
  }
  output.tokens.push_back(likelihood_of(logits, token, request.log_probabilities));
  if (ends_answer(sequence.constraint.get(), request, token))
    output.finished = FinishReason::stop;
  else if (sequence.answer_length() >= request.max_tokens || sequence.length() >= context())
    output.finished = FinishReason::length;
  sequence.finished = output.finished.has_value();
}

std::vector<GenerationOutput> PagedEngine::step() {
  outputs_.clear();
  while (std::ssize(flights_) < model_.model().grid().shape().pipeline && start_flight()) {
  }
  if (flights_.empty()) return {};
  ++steps_;
  const Flight flight = std::move(flights_.front());
  flights_.pop_front();
  model_.finish(
      flight.batch,
      [&](std::size_t index, std::span<float> logits) {
        take_logits(flight.logit_rows[index], logits);
      },
      [&](std::size_t index, std::span<const float> hidden) {
        take_hidden(*flight.hidden_rows[index], hidden);
      });
  for (const ScheduledChunk& chunk : flight.chunks) {
    scheduler_.computed(chunk);
    close(*chunk.sequence);
  }
  return std::move(outputs_);
}

// Closes a request whose step ended if it is complete.
void PagedEngine::close(Sequence& sequence) {
  if (!sequence.cancelled) {
    if (sequence.request.max_tokens == 0 && sequence.missing() == 0 && !sequence.finished) {
      prompt_tokens_ += sequence.prompt_length();
      GenerationOutput& output = output_of(sequence);
      output.prompt = sequence.prompt_likelihoods;
      for (const double sum : sequence.hidden_sum)
        output.embedding.push_back(static_cast<float>(sum / static_cast<double>(sequence.pooled)));
      output.finished = FinishReason::length;
      if (!all_finite(output.embedding)) {
        output.finished = FinishReason::error;
        output.error = "the hidden states are not finite: the weights are not, or are too large";
      }
      sequence.finished = true;
    }
    if (!sequence.finished) return;
    open_.erase(sequence.request.id);
  }
  scheduler_.remove(sequence);
}

void PagedEngine::drain() {
  while (!open_.empty()) cancel(open_.begin()->first);
  while (!flights_.empty()) step();
}

EngineState PagedEngine::state() const {
  return {.waiting = scheduler_.waiting(),
          .running = scheduler_.running(),
          .steps = steps_,
          .prompt_tokens = prompt_tokens_,
          .answer_tokens = answer_tokens_,
          .preemptions = scheduler_.preemptions(),
          .prefix_hit_tokens = scheduler_.prefix_hit_tokens(),
          .cache_blocks = pool_.blocks(),
          .free_cache_blocks = pool_.free_blocks(),
          .accepted_tokens = accepted_tokens_};
}

}  // namespace triax
