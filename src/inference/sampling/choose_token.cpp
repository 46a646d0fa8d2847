// SPDX-License-Identifier: Apache-2.0
#include "src/inference/sampling/choose_token.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "kernels/random/random.hpp"

namespace triax {
namespace {

constexpr float never = -std::numeric_limits<float>::infinity();

float& at(std::span<float> logits, std::int32_t token) {
  return logits[static_cast<std::size_t>(token)];
}

void penalise_repetition(std::span<float> logits, double penalty,
                         std::span<const std::int32_t> prompt,
                         std::span<const std::int32_t> answer) {
  std::vector<std::int32_t> seen(prompt.begin(), prompt.end());
  seen.insert(seen.end(), answer.begin(), answer.end());
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  const auto r = static_cast<float>(penalty);
  for (const std::int32_t token : seen) {
    float& logit = at(logits, token);
    logit = logit > 0.0F ? logit / r : logit * r;
  }
}

void penalise_answer(std::span<float> logits, const TokenChoice& choice,
                     std::span<const std::int32_t> answer) {
  std::unordered_map<std::int32_t, int> counts;
  for (const std::int32_t token : answer) ++counts[token];
  for (const auto& [token, count] : counts)
    at(logits, token) -=
        static_cast<float>(choice.frequency_penalty * count + choice.presence_penalty);
}

// Tokens that may be drawn, with exp((logit - largest) / temperature) each.
struct Candidates {
  std::vector<std::int32_t> tokens;
  std::vector<double> weights;
  double total = 0.0;

  void add(std::int32_t token, double weight) {
    tokens.push_back(token);
    weights.push_back(weight);
    total += weight;
  }
};

// The `count` likeliest of `order` to its front, in order; the lower of equals first.
void sort_front(std::span<const float> logits, std::vector<std::int32_t>& order,
                std::size_t count) {
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    likelier);
}

// Cuts `all` to the fewest of its tokens, likeliest first, that have `share` of its weight. Sorts
// no more of them than it needs, nearly.
void cut_by_share(std::span<const float> logits, Candidates& all, double share) {
  const double wanted = share * all.total;
  Candidates kept;
  std::vector<std::int32_t> order = all.tokens;
  std::vector<double> by_token(logits.size());
  for (std::size_t i = 0; i < all.tokens.size(); ++i)
    by_token[static_cast<std::size_t>(all.tokens[i])] = all.weights[i];
  std::size_t sorted = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == sorted) {
      sorted = std::min(order.size(), std::max<std::size_t>(64, 8 * sorted));
      sort_front(logits, order, sorted);
    }
    kept.add(order[i], by_token[static_cast<std::size_t>(order[i])]);
    if (kept.total >= wanted) break;
  }
  all = std::move(kept);
}

}  // namespace

double token_uniform(std::uint64_t seed, std::int64_t index) {
  const auto words = philox(mix_key(seed, "generate"), static_cast<std::uint64_t>(index));
  return static_cast<double>(words[0]) * 0x1p-32;
}

void change_logits(std::span<float> logits, const TokenChoice& choice,
                   std::span<const std::int32_t> prompt, std::span<const std::int32_t> answer,
                   std::span<const std::int32_t> banned, const TokenMask* allowed) {
  if (choice.tokens > 0 && static_cast<std::size_t>(choice.tokens) < logits.size())
    std::ranges::fill(logits.subspan(static_cast<std::size_t>(choice.tokens)), never);
  for (const std::int32_t token : banned) at(logits, token) = never;
  for (std::int32_t token = 0; allowed != nullptr && token < std::ssize(logits); ++token)
    if (!allowed->has(token)) at(logits, token) = never;
  for (const auto& [token, bias] : choice.logit_bias) at(logits, token) += bias;
  if (choice.repetition_penalty != 1.0)
    penalise_repetition(logits, choice.repetition_penalty, prompt, answer);
  if (choice.frequency_penalty != 0.0 || choice.presence_penalty != 0.0)
    penalise_answer(logits, choice, answer);
}

std::int32_t draw_token(std::span<const float> logits, const TokenChoice& choice, double uniform) {
  const auto best = std::ranges::max_element(logits);  // the first of equals
  const auto first = static_cast<std::int32_t>(best - logits.begin());
  if (choice.temperature <= 0.0 || choice.top_k == 1) return first;
  const double largest = *best;
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  if (choice.top_k > 0 && static_cast<std::size_t>(choice.top_k) < order.size()) {
    sort_front(logits, order, static_cast<std::size_t>(choice.top_k));
    order.resize(static_cast<std::size_t>(choice.top_k));
  }
  Candidates candidates;
  for (const std::int32_t token : order) {
    const double weight =
        std::exp((logits[static_cast<std::size_t>(token)] - largest) / choice.temperature);
    if (weight > 0.0 && weight >= choice.min_p) candidates.add(token, weight);
  }
  if (choice.top_p < 1.0) cut_by_share(logits, candidates, choice.top_p);
  double sum = 0.0;
  for (std::size_t i = 0; i < candidates.tokens.size(); ++i)
    if (sum += candidates.weights[i]; sum > uniform * candidates.total) return candidates.tokens[i];
  return candidates.tokens.empty() ? first : candidates.tokens.back();
}

std::int32_t next_token(std::span<const float> logits, const TokenChoice& choice,
                        std::span<const std::int32_t> prompt, std::span<const std::int32_t> answer,
                        std::span<const std::int32_t> banned, const TokenMask* allowed) {
  std::vector<float> changed(logits.begin(), logits.end());
  change_logits(changed, choice, prompt, answer, banned, allowed);
  return draw_token(changed, choice, token_uniform(choice.seed, std::ssize(answer)));
}

bool all_finite(std::span<const float> logits) {
  return std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); });
}

}  // namespace triax
