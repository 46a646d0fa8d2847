// SPDX-License-Identifier: Apache-2.0
#include "src/serve/generation/generations.hpp"

#include <fmt/format.h>

#include <random>

namespace triax {
namespace {

constexpr int retry_seconds = 2;

std::string new_id(const char* prefix) {
  static std::mt19937_64 numbers{std::random_device{}()};
  return fmt::format("{}{:016x}{:016x}", prefix, numbers(), numbers());
}

std::int64_t now_in_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

void Generations::check_room(std::int64_t answers, std::int64_t tokens) {
  // Those that the engine computes do not wait.
  const std::int64_t waiting = open_answers_ - metrics_.engine.running;
  const bool full = open_answers_ > 0 && (waiting + answers > limits_.waiting ||
                                          open_tokens_ + tokens > limits_.waiting_tokens);
  if (!full) return;
  ++metrics_.refused;
  throw ApiError(429,
                 fmt::format("{} answers wait already, with {} tokens of prompts (serve.queue is "
                             "{}, serve.queue_tokens {}). Try again later",
                             waiting, open_tokens_, limits_.waiting, limits_.waiting_tokens),
                 {}, "rate_limit_exceeded")
      .after(retry_seconds);
}

void Generations::open(AskedText asked, std::shared_ptr<HttpExchange> exchange) {
  const GenerationCall& call = asked.call;
  std::int64_t tokens = 0;
  for (const auto& prompt : call.prompts) tokens += std::ssize(prompt) * call.options.answers;
  const std::int64_t answers = std::ssize(call.prompts) * call.options.answers;
  check_room(answers, tokens);
  ReplyName name{new_id(asked.format->id_prefix()), now_in_seconds()};
  auto generation = std::make_unique<OpenGeneration>(model_, std::move(asked), std::move(exchange),
                                                     std::move(name), metrics_);
  const std::uint64_t first = next_id_;
  next_id_ += static_cast<std::uint64_t>(answers);
  generation->exchange().on_gone = [this, first] {
    const auto request = requests_.find(first);
    if (request == requests_.end()) return;
    ++metrics_.cancelled;
    close(request, true);
  };
  if (open_answers_ == 0) last_step_ = Clock::now();
  open_answers_ += answers;
  open_tokens_ += tokens;
  auto requests = generation->requests(first);
  requests_.emplace(first, Request{std::move(generation), first, tokens});
  for (GenerationRequest& request : requests) engine_.submit(std::move(request));
}

Generations::Requests::iterator Generations::request_of(std::uint64_t id) {
  auto found = requests_.upper_bound(id);
  if (found == requests_.begin()) return requests_.end();
  --found;
  return id < found->first + found->second.generation->answers() ? found : requests_.end();
}

void Generations::close(Requests::iterator request, bool cancel) {
  const Request closed = std::move(request->second);
  requests_.erase(request);
  const std::size_t answers = closed.generation->answers();
  open_answers_ -= static_cast<std::int64_t>(answers);
  open_tokens_ -= closed.prompt_tokens;
  if (!cancel) return;
  for (std::size_t i = 0; i < answers; ++i)
    if (!closed.generation->answer_done(i)) engine_.cancel(closed.first_id + i);
}

void Generations::fail(Requests::iterator request, const ApiError& error) {
  request->second.generation->fail(error);
  close(request, true);
}

void Generations::take(const StepReport& report) {
  last_step_ = Clock::now();
  metrics_.engine = report.state;
  for (const auto& [id, why] : report.refused)
    if (const auto request = request_of(id); request != requests_.end())
      fail(request, bad_request(why));
  for (const GenerationOutput& output : report.outputs) {
    const auto request = request_of(output.id);
    if (request == requests_.end()) continue;  // cancelled since
    OpenGeneration& generation = *request->second.generation;
    if (generation.add(output.id - request->first, output)) engine_.cancel(output.id);
    if (generation.done()) close(request, true);
  }
}

void Generations::tick(Clock::time_point now) {
  for (auto next = requests_.begin(); next != requests_.end();) {
    const auto request = next++;
    OpenGeneration& generation = *request->second.generation;
    const std::chrono::duration<double> age = now - generation.begun();
    if (limits_.deadline > 0 && age.count() > limits_.deadline) {
      fail(request, ApiError(504, fmt::format("the answer took longer than {} s (serve.deadline)",
                                              limits_.deadline)));
      continue;
    }
    generation.keep_alive(now);
  }
}

void Generations::fail_all(const ApiError& error) {
  while (!requests_.empty()) fail(requests_.begin(), error);
}

double Generations::stalled_for(Clock::time_point now) const {
  if (requests_.empty()) return 0;
  return std::chrono::duration<double>(now - last_step_).count();
}

}  // namespace triax
