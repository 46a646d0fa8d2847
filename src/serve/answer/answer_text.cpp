// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/answer_text.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/random/random.hpp"
#include "src/serve/answer/token_spelling.hpp"

namespace triax {
namespace {

// Tokens of the prompt that decide how the first token of the answer is decoded.
constexpr std::ptrdiff_t context_tokens = 8;

// Ids of calls follow from the request alone.
std::uint64_t key_of(const GenerationOptions& options, std::span<const std::int32_t> prompt) {
  std::uint64_t key = mix_key(options.choice.seed, "calls");
  for (const std::int32_t token : prompt) key = mix_key(key, static_cast<std::uint64_t>(token));
  return key;
}

}  // namespace

void AnswerDelta::append(AnswerDelta next) {
  text += next.text;
  std::ranges::move(next.calls, std::back_inserter(calls));
  std::ranges::move(next.tokens, std::back_inserter(tokens));
  called = called || next.called;
  if (!next.embedding.empty()) embedding = std::move(next.embedding);
  if (next.finished) finished = next.finished;
  if (!next.stop.empty()) stop = std::move(next.stop);
}

AnswerText::AnswerText(const ServedModel& model, const GenerationOptions& options,
                       std::span<const std::int32_t> prompt)
    : tokenizer_(*model.tokenizer),
      options_(options),
      prompt_(prompt),
      stream_(model.tokenizer, options.skip_special_tokens),
      stop_(options.stops) {
  if (options.tools.form != nullptr) calls_.emplace(options.tools, key_of(options, prompt));
  if (options.echo) return;
  for (const std::int32_t id :
       prompt.last(static_cast<std::size_t>(std::min(std::ssize(prompt), context_tokens))))
    (void)piece_of(id);
  (void)characters_.rest();  // half a character of the prompt is none of the answer's
  before_ = prompt.back();
}

std::string AnswerText::piece_of(std::int32_t id) {
  const bool known = id >= 0 && id < tokenizer_.vocabulary();
  return known ? characters_.next(stream_.next(id)) : std::string();
}

void AnswerText::note_token(const TokenLikelihood& token, bool has_probability) {
  if (options_.log_probabilities < 0) return;
  AnswerToken noted{.bytes = token_bytes(tokenizer_, before_, token.token),
                    .log_probability = {},
                    .alternatives = {},
                    .offset = decoded_};
  if (has_probability) noted.log_probability = token.log_probability;
  for (const auto& [id, log_probability] : token.alternatives)
    noted.alternatives.emplace_back(token_bytes(tokenizer_, before_, id), log_probability);
  waiting_.push_back(std::move(noted));
}

// The prompt is no text of the model: it ends at no stop text.
void AnswerText::add_prompt(const GenerationOutput& output, AnswerDelta& delta) {
  for (std::size_t i = 0; i < prompt_.size(); ++i) {
    const bool scored = i > 0 && i <= output.prompt.size();
    TokenLikelihood token = scored ? output.prompt[i - 1] : TokenLikelihood{};
    token.token = prompt_[i];
    note_token(token, scored);
    before_ = prompt_[i];
    const std::string piece = piece_of(prompt_[i]);
    decoded_ += code_points(piece);
    delta.text += piece;
  }
  const std::string rest = characters_.rest();
  decoded_ += code_points(rest);
  delta.text += rest;
  out_ = decoded_;
  release(true, delta);
}

void AnswerText::add_token(const TokenLikelihood& token, AnswerDelta& delta) {
  ++count_;
  if (std::ranges::find(options_.end_tokens, token.token) != options_.end_tokens.end())
    return finish(FinishReason::stop, delta);
  note_token(token, true);
  before_ = token.token;
  const std::string piece = piece_of(token.token);
  decoded_ += code_points(piece);
  const std::string text = stop_.next(piece);
  out_ += code_points(text);
  delta.text += text;
  if (stop_.stopped()) finish(FinishReason::stop, delta);
}

void AnswerText::finish(FinishReason reason, AnswerDelta& delta) {
  finished_ = true;
  if (!stop_.stopped()) {
    std::string text = stop_.next(characters_.next(stream_.rest()));
    if (!stop_.stopped()) text += stop_.next(characters_.rest());
    if (!stop_.stopped()) text += stop_.rest();
    out_ += code_points(text);
    delta.text += text;
  }
  delta.finished = stop_.stopped() ? FinishReason::stop : reason;
  if (!stop_.stopped()) return;
  delta.stop = stop_.found();
  if (!options_.include_stop) return;
  delta.text += stop_.found();
  out_ += code_points(stop_.found());
}

void AnswerText::release(bool all, AnswerDelta& delta) {
  while (!waiting_.empty() && (all || waiting_.front().offset < out_)) {
    delta.tokens.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

AnswerDelta AnswerText::add(const GenerationOutput& output) {
  AnswerDelta delta;
  if (finished_) return delta;
  if (!begun_ && options_.echo) add_prompt(output, delta);
  begun_ = true;
  for (const TokenLikelihood& token : output.tokens) {
    add_token(token, delta);
    if (finished_) break;
  }
  if (output.finished && !finished_) finish(*output.finished, delta);
  delta.embedding = output.embedding;
  release(finished_ && !stop_.stopped(), delta);
  if (calls_) take_calls(delta);
  return delta;
}

void AnswerText::take_calls(AnswerDelta& delta) {
  ToolCallText::Piece piece = calls_->next(delta.text);
  delta.text = std::move(piece.content);
  delta.calls = std::move(piece.calls);
  if (!finished_) return;
  piece = calls_->rest();
  delta.text += piece.content;
  std::ranges::move(piece.calls, std::back_inserter(delta.calls));
  delta.called = calls_->called();
}

}  // namespace triax
