// SPDX-License-Identifier: Apache-2.0
#pragma once
// All requests for text under way, between their clients and the engine. On the server's thread.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "src/serve/generation/engine_loop.hpp"
#include "src/serve/generation/open_generation.hpp"

namespace triax {

struct GenerationLimits {
  std::int64_t waiting = 1000;            // answers
  std::int64_t waiting_tokens = 4 << 20;  // of the prompts of open answers
  double deadline = 0;                    // seconds per request; 0: none
};

class Generations {
 public:
  using Clock = OpenGeneration::Clock;

  /// References outlive it.
  Generations(const ServedModel& model, EngineLoop& engine, Metrics& metrics,
              const GenerationLimits& limits)
      : model_(model), engine_(engine), metrics_(metrics), limits_(limits) {}

  /// Begins to answer. ApiError 429 if too much waits already.
  void open(AskedText asked, std::shared_ptr<HttpExchange> exchange);
  /// Takes what the engine has done.
  void take(const StepReport& report);
  /// Deadlines and signs of life. To be called every second or so.
  void tick(Clock::time_point now);
  /// Ends all replies by an error.
  void fail_all(const ApiError& error);

  std::size_t open() const { return requests_.size(); }
  /// Seconds since the engine last finished a step while there was something to do; 0 if there is
  /// nothing to do.
  double stalled_for(Clock::time_point now) const;

 private:
  struct Request {
    std::unique_ptr<OpenGeneration> generation;
    std::uint64_t first_id;
    std::int64_t prompt_tokens;  // of all answers
  };
  using Requests = std::map<std::uint64_t, Request>;  // by first_id

  void check_room(std::int64_t answers, std::int64_t tokens);
  // Closes a request whose reply has ended or whose client has gone.
  void close(Requests::iterator request, bool cancel);
  void fail(Requests::iterator request, const ApiError& error);
  Requests::iterator request_of(std::uint64_t id);

  const ServedModel& model_;
  EngineLoop& engine_;
  Metrics& metrics_;
  GenerationLimits limits_;
  Requests requests_;
  std::uint64_t next_id_ = 1;
  std::int64_t open_answers_ = 0, open_tokens_ = 0;
  Clock::time_point last_step_ = Clock::now();
};

}  // namespace triax
