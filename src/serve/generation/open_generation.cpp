// SPDX-License-Identifier: Apache-2.0
#include "src/serve/generation/open_generation.hpp"

#include <algorithm>
#include <utility>

#include "src/version/version.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds silence{15};  // after which a stream says that it lives

}  // namespace

HttpReply error_reply(const ApiError& error) {
  HttpReply reply{.status = error.status(), .body = error.body()};
  if (error.retry_after() > 0)
    reply.headers.emplace_back("Retry-After", std::to_string(error.retry_after()));
  else if (error.status() >= 500)  // clients try again by themselves, to no avail
    reply.headers.emplace_back("x-should-retry", "false");
  if (error.status() == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

OpenGeneration::OpenGeneration(const ServedModel& model, AskedText asked,
                               std::shared_ptr<HttpExchange> exchange, ReplyName name,
                               Metrics& metrics)
    : model_(model),
      call_(std::move(asked.call)),
      format_(std::move(asked.format)),
      exchange_(std::move(exchange)),
      name_(std::move(name)),
      metrics_(metrics) {
  for (const auto& prompt : call_.prompts)
    for (std::int64_t i = 0; i < call_.options.answers; ++i)
      answers_.push_back({.text = AnswerText(model_, call_.options, prompt)});
  left_ = answers_.size();
}

std::vector<GenerationRequest> OpenGeneration::requests(std::uint64_t first_id) const {
  const GenerationOptions& options = call_.options;
  std::vector<GenerationRequest> all;
  for (const auto& prompt : call_.prompts) {
    const std::int64_t room = model_.context - std::ssize(prompt);
    for (std::int64_t i = 0; i < options.answers; ++i) {
      GenerationRequest request{
          .id = first_id + all.size(),
          .prompt = prompt,
          .choice = options.choice,
          .max_tokens = options.max_tokens < 0 ? room : std::min(room, options.max_tokens),
          .min_tokens = options.min_tokens,
          .end_tokens = options.end_tokens,
          .log_probabilities = options.log_probabilities,
          .prompt_log_probabilities =
              options.echo && (options.log_probabilities >= 0 || options.max_tokens == 0),
          .constraint = options.constraint,
          .pooling = options.pooling};
      request.choice.seed += static_cast<std::uint64_t>(i);
      all.push_back(std::move(request));
    }
  }
  return all;
}

bool OpenGeneration::add(std::size_t index, const GenerationOutput& output) {
  Answer& answer = answers_[index];
  if (failed_ || answer.text.finished()) return false;
  if (output.finished == FinishReason::error) {
    fail(ApiError(500, "the answer failed: " + output.error));
    return false;
  }
  note_times(answer, output.tokens.size());
  const AnswerDelta delta = answer.text.add(output);
  if (delta.finished) {
    --left_;
    ++metrics_.finished[finish_reason(delta).get<std::string>()];
  }
  if (call_.options.stream)
    stream(index, delta);
  else
    answer.all.append(delta);
  if (left_ == 0) end_reply();
  return answer.text.finished() && !output.finished;
}

void OpenGeneration::note_times(Answer& answer, std::size_t tokens) {
  if (tokens == 0) return;
  const auto now = Clock::now();
  if (answer.last == Clock::time_point{})
    metrics_.first_token.add(Seconds(now - begun_).count());
  else
    for (std::size_t i = 0; i < tokens; ++i)
      metrics_.next_token.add(Seconds(now - answer.last).count() / static_cast<double>(tokens));
  answer.last = now;
}

ordered_json OpenGeneration::usage() const {
  std::int64_t prompt = 0, answer = 0;
  for (const auto& one : call_.prompts) prompt += std::ssize(one);
  for (const Answer& one : answers_) answer += one.text.tokens();
  return {
      {"prompt_tokens", prompt}, {"completion_tokens", answer}, {"total_tokens", prompt + answer}};
}

ordered_json OpenGeneration::envelope(ordered_json choices) const {
  ordered_json value = {{"id", name_.id},
                        {"object", format_->object(call_.options.stream)},
                        {"created", name_.created},
                        {"model", model_.names.front()},
                        {"system_fingerprint", std::string("triax-") + version},
                        {format_->list(), std::move(choices)}};
  if (call_.options.stream && call_.options.usage) value["usage"] = nullptr;
  return value;
}

void OpenGeneration::begin_events() {
  if (std::exchange(events_begun_, true)) return;
  exchange_->begin({.status = 200,
                    .body = {},
                    .type = "text/event-stream; charset=utf-8",
                    .headers = {{"Cache-Control", "no-cache"},
                                {"X-Accel-Buffering", "no"},
                                {"x-request-id", name_.id}}});
  ++metrics_.replies[{format_->route(), 200}];
}

void OpenGeneration::event(const ordered_json& value) {
  exchange_->write("data: " + dump(value) + "\n\n");
  written_ = Clock::now();
}

void OpenGeneration::stream(std::size_t index, const AnswerDelta& delta) {
  if (delta.empty() && answers_[index].opened) return;
  begin_events();
  const auto number = static_cast<std::int64_t>(index);
  if (!std::exchange(answers_[index].opened, true))
    if (ordered_json opening = format_->opening(number); !opening.is_null())
      event(envelope(ordered_json::array({std::move(opening)})));
  if (!delta.empty()) event(envelope(ordered_json::array({format_->choice(number, delta, true)})));
}

void OpenGeneration::end_reply() {
  metrics_.whole.add(Seconds(Clock::now() - begun_).count());
  if (call_.options.stream) {
    if (call_.options.usage) {
      ordered_json last = envelope(ordered_json::array());
      last["usage"] = usage();
      event(last);
    }
    exchange_->write("data: [DONE]\n\n");
    return exchange_->end();
  }
  ordered_json choices = ordered_json::array();
  for (std::size_t i = 0; i < answers_.size(); ++i)
    choices.push_back(format_->choice(static_cast<std::int64_t>(i), answers_[i].all, false));
  ordered_json whole = envelope(std::move(choices));
  whole["usage"] = usage();
  ++metrics_.replies[{format_->route(), 200}];
  exchange_->reply({.status = 200, .body = dump(whole), .headers = {{"x-request-id", name_.id}}});
}

void OpenGeneration::fail(const ApiError& error) {
  failed_ = true;
  ++metrics_.finished["error"];
  if (!events_begun_) {
    ++metrics_.replies[{format_->route(), error.status()}];
    return exchange_->reply(error_reply(error));
  }
  exchange_->write("data: " + error.body() + "\n\ndata: [DONE]\n\n");
  exchange_->end();
}

void OpenGeneration::keep_alive(Clock::time_point now) {
  if (!call_.options.stream || now - written_ < silence) return;
  begin_events();
  exchange_->write(": still at work\n\n");
  written_ = now;
}

}  // namespace triax
