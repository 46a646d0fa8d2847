// SPDX-License-Identifier: Apache-2.0
#include "src/serve/generation/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace triax {
namespace {

std::string head(const std::string& name, const char* type, const char* help) {
  return fmt::format("# HELP triax_{0} {2}\n# TYPE triax_{0} {1}\n", name, type, help);
}

template <class Value>
std::string single(const std::string& name, const char* type, const char* help, Value value) {
  return head(name, type, help) + fmt::format("triax_{} {}\n", name, value);
}

double used_part(const EngineState& engine) {
  if (engine.cache_blocks == 0) return 0;
  return 1.0 -
         static_cast<double>(engine.free_cache_blocks) / static_cast<double>(engine.cache_blocks);
}

std::string engine_text(const EngineState& engine) {
  return single("requests_running", "gauge", "Answers that steps compute.", engine.running) +
         single("requests_waiting", "gauge", "Answers that wait for their first step.",
                engine.waiting) +
         single("kv_cache_usage_ratio", "gauge", "Used part of the KV cache, 0 to 1.",
                used_part(engine)) +
         single("engine_steps_total", "counter", "Steps of the engine.", engine.steps) +
         single("prompt_tokens_total", "counter", "Tokens of prompts computed.",
                engine.prompt_tokens) +
         single("generation_tokens_total", "counter", "Tokens of answers.", engine.answer_tokens) +
         single("prefix_cache_hit_tokens_total", "counter", "Tokens of prompts found in the cache.",
                engine.prefix_hit_tokens) +
         single("speculated_tokens_total", "counter", "Tokens of answers that were guessed right.",
                engine.accepted_tokens) +
         single("preemptions_total", "counter", "Answers put back for want of cache.",
                engine.preemptions);
}

}  // namespace

void Histogram::add(double value) {
  const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(at)];
  sum_ += value;
}

std::string Histogram::text(const std::string& name) const {
  std::string text;
  std::int64_t below = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i)
    text += fmt::format("triax_{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], below += counts_[i]);
  below += counts_.back();
  return text + fmt::format(
                    "triax_{0}_bucket{{le=\"+Inf\"}} {1}\ntriax_{0}_sum {2}\n"
                    "triax_{0}_count {1}\n",
                    name, below, sum_);
}

Metrics::Metrics()
    : first_token({0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5,
                   10, 20, 30}),
      next_token({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                  0.75, 1, 2.5}),
      whole({0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480}) {}

std::string Metrics::text() const {
  std::string text = engine_text(engine);
  text +=
      single("requests_cancelled_total", "counter", "Requests whose client went away.", cancelled);
  text += single("requests_refused_total", "counter", "Requests that met a full queue.", refused);
  text += head("request_success_total", "counter", "Finished answers by reason.");
  for (const auto& [reason, count] : finished)
    text +=
        fmt::format("triax_request_success_total{{finished_reason=\"{}\"}} {}\n", reason, count);
  text += head("http_replies_total", "counter",
               "Replies to generation requests, and errors, by route and status.");
  for (const auto& [key, count] : replies)
    text += fmt::format("triax_http_replies_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                        key.second, count);
  text += head("time_to_first_token_seconds", "histogram", "From request to first token.");
  text += first_token.text("time_to_first_token_seconds");
  text += head("inter_token_latency_seconds", "histogram", "Between tokens of an answer.");
  text += next_token.text("inter_token_latency_seconds");
  text += head("e2e_request_latency_seconds", "histogram", "From request to end of the reply.");
  return text + whole.text("e2e_request_latency_seconds");
}

}  // namespace triax
