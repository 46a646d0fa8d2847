// SPDX-License-Identifier: Apache-2.0
#pragma once
// One request for text under way: its answers, and the reply to its client.
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "src/serve/answer/answer_text.hpp"
#include "src/serve/api/api_error.hpp"
#include "src/serve/generation/asked_text.hpp"
#include "src/serve/generation/metrics.hpp"
#include "src/serve/http/exchange.hpp"

namespace triax {

/// Reply to a request that is refused or has failed.
HttpReply error_reply(const ApiError& error);

/// Identity of a reply.
struct ReplyName {
  std::string id;
  std::int64_t created = 0;  // seconds since 1970
};

class OpenGeneration {
 public:
  using Clock = std::chrono::steady_clock;

  /// `model` and `metrics` outlive it.
  OpenGeneration(const ServedModel& model, AskedText asked, std::shared_ptr<HttpExchange> exchange,
                 ReplyName name, Metrics& metrics);

  /// Requests for the engine, one per answer, whose ids begin at `first_id`.
  std::vector<GenerationRequest> requests(std::uint64_t first_id) const;

  /// Adds an output to answer `index`. True: the answer ended here although the engine goes on, and
  /// must be told.
  bool add(std::size_t index, const GenerationOutput& output);
  bool answer_done(std::size_t index) const { return answers_[index].text.finished(); }
  bool done() const { return left_ == 0 || failed_; }
  std::size_t answers() const { return answers_.size(); }
  /// Ends the reply by an error.
  void fail(const ApiError& error);
  /// Keeps a silent stream alive: proxies cut connections that say nothing.
  void keep_alive(Clock::time_point now);
  Clock::time_point begun() const { return begun_; }
  HttpExchange& exchange() { return *exchange_; }

 private:
  struct Answer {
    AnswerText text;
    AnswerDelta all = {};         // unless streamed
    bool opened = false;          // its first event is out
    Clock::time_point last = {};  // token; the epoch: none yet
  };

  nlohmann::ordered_json envelope(nlohmann::ordered_json choices) const;
  nlohmann::ordered_json usage() const;
  void begin_events();
  void event(const nlohmann::ordered_json& value);
  void stream(std::size_t index, const AnswerDelta& delta);
  void note_times(Answer& answer, std::size_t tokens);
  void end_reply();

  const ServedModel& model_;
  GenerationCall call_;
  std::unique_ptr<const ReplyFormat> format_;
  std::shared_ptr<HttpExchange> exchange_;
  ReplyName name_;
  Metrics& metrics_;
  std::deque<Answer> answers_;  // prompts x n
  std::size_t left_;            // answers that go on
  Clock::time_point begun_ = Clock::now(), written_ = begun_;
  bool events_begun_ = false, failed_ = false;
};

}  // namespace triax
