// SPDX-License-Identifier: Apache-2.0
// The formulas are those of Hugging Face's modeling_rope_utils, in double precision.
#include "src/config/rope_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Problem = std::optional<RopeProblem>;

// Keys of several kinds stand once; numbers are above 0 unless a key says otherwise.
constexpr RopeKey factor = {"factor", &RopeScaling::factor,
                            "slowdown of the rotary pairs, or the stretch of the context", "",
                            RopeBound::from_1};
constexpr RopeKey original = {"original_max_position_embeddings", &RopeScaling::original_positions,
                              "context that the model was first trained on", "tokens",
                              RopeBound::from_1};
constexpr RopeKey attention_factor = {
    "attention_factor", &RopeScaling::attention_factor,
    "factor on cosines and sines; left out: computed from the other keys"};
constexpr RopeKey beta_fast = {"beta_fast", &RopeScaling::beta_fast,
                               "pairs that turn more often in the original context are kept",
                               "turns"};
constexpr RopeKey beta_slow = {
    "beta_slow", &RopeScaling::beta_slow,
    "pairs that turn less often in the original context are slowed by factor", "turns"};
constexpr RopeKey truncate = {
    "truncate", &RopeScaling::truncate,
    "the boundaries of beta_fast and beta_slow are rounded to whole pairs"};
constexpr RopeKey mscale = {"mscale", &RopeScaling::mscale,
                            "weight of ln(factor) in the numerator of attention_factor", "",
                            RopeBound::from_0};
constexpr RopeKey mscale_all_dim = {"mscale_all_dim", &RopeScaling::mscale_all_dim,
                                    "weight of ln(factor) in the denominator of attention_factor",
                                    "", RopeBound::from_0};
constexpr RopeKey short_factor = {
    "short_factor", &RopeScaling::short_factor,
    "slowdown of each pair (head_dim / 2 numbers) up to the original context"};
constexpr RopeKey long_factor = {
    "long_factor", &RopeScaling::long_factor,
    "slowdown of each pair (head_dim / 2 numbers) beyond the original context"};
constexpr RopeKey low_freq_factor = {
    "low_freq_factor", &RopeScaling::low_freq_factor,
    "pairs that turn less often in the original context are slowed by factor", "turns"};
constexpr RopeKey high_freq_factor = {"high_freq_factor", &RopeScaling::high_freq_factor,
                                      "pairs that turn more often in the original context are kept",
                                      "turns"};

// Frequencies theta^(-2 d / D), each passed through change(frequency, d).
template <class Change>
std::vector<double> frequencies(double theta, std::int64_t head_size, Change change) {
  const std::int64_t half = head_size / 2;
  std::vector<double> all;
  for (std::int64_t d = 0; d < half; ++d) {
    const double exponent = -static_cast<double>(d) / static_cast<double>(half);
    all.push_back(change(std::pow(theta, exponent), d));
  }
  return all;
}

std::vector<double> plain_frequencies(double theta, std::int64_t head_size) {
  return frequencies(theta, head_size, [](double frequency, std::int64_t) { return frequency; });
}

RopeAngles as_trained(const RopeScaling&, const RopeShape& shape) {
  return {plain_frequencies(shape.theta, shape.head_size)};
}

RopeAngles linear(const RopeScaling& scaling, const RopeShape& shape) {
  return {frequencies(shape.theta, shape.head_size,
                      [&](double frequency, std::int64_t) { return frequency / scaling.factor; })};
}

// Base of the dynamic kind ("NTK-aware"): constant for sequences of one length.
double dynamic_theta(const RopeScaling& scaling, const RopeShape& shape) {
  const auto positions = static_cast<double>(shape.positions);
  const double length = std::max(static_cast<double>(shape.length), positions);
  const auto width = static_cast<double>(shape.head_size);
  const double stretch = scaling.factor * length / positions - (scaling.factor - 1.0);
  return shape.theta * std::pow(stretch, width / (width - 2.0));
}

RopeAngles dynamic(const RopeScaling& scaling, const RopeShape& shape) {
  return {plain_frequencies(dynamic_theta(scaling, shape), shape.head_size)};
}

Problem problem_of_dynamic(const RopeScaling&, const RopeShape& shape) {
  if (shape.head_size > 2) return {};
  return RopeProblem{"rope_type", "dynamic needs heads of at least 4 dimensions"};
}

std::string effect_of_dynamic(const RopeScaling& scaling, const RopeShape& shape) {
  if (shape.length <= shape.positions)
    return fmt::format("sequences of {} tokens are within max_position_embeddings {}: no change",
                       shape.length, shape.positions);
  return fmt::format(
      "sequences of {} tokens are beyond max_position_embeddings {}: rope_theta {:g} acts as "
      "{:.6g}",
      shape.length, shape.positions, shape.theta, dynamic_theta(scaling, shape));
}

// YaRN (Peng et al. 2023). Pairs between the two boundaries are interpolated linearly.
struct Boundaries {
  double low, high;
};

Boundaries yarn_boundaries(const RopeScaling& scaling, const RopeShape& shape) {
  const auto width = static_cast<double>(shape.head_size);
  // The pair that makes `turns` turns in the original context.
  const auto pair_of = [&](double turns) {
    return width *
           std::log(static_cast<double>(scaling.original_positions) /
                    (turns * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(shape.theta));
  };
  double low = pair_of(scaling.beta_fast), high = pair_of(scaling.beta_slow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1.0);
  return {low, low == high ? high + 0.001 : high};
}

double yarn_attention(const RopeScaling& scaling) {
  const auto scale = [&](double weight) {
    return scaling.factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(scaling.factor) + 1.0;
  };
  if (scaling.attention_factor > 0.0) return scaling.attention_factor;
  if (scaling.mscale > 0.0 && scaling.mscale_all_dim > 0.0)
    return scale(scaling.mscale) / scale(scaling.mscale_all_dim);
  return scale(1.0);
}

RopeAngles yarn(const RopeScaling& scaling, const RopeShape& shape) {
  const auto [low, high] = yarn_boundaries(scaling, shape);
  const auto change = [&, low = low, high = high](double frequency, std::int64_t d) {
    const double slowed = std::clamp((static_cast<double>(d) - low) / (high - low), 0.0, 1.0);
    return frequency / scaling.factor * slowed + frequency * (1.0 - slowed);
  };
  return {frequencies(shape.theta, shape.head_size, change), yarn_attention(scaling)};
}

Problem problem_of_yarn(const RopeScaling& scaling, const RopeShape&) {
  if (scaling.factor < 1.0)
    return RopeProblem{factor.name,
                       fmt::format("{:g}, max_position_embeddings / "
                                   "original_max_position_embeddings, is below 1. Set it",
                                   scaling.factor)};
  if (scaling.beta_fast > scaling.beta_slow) return {};
  return RopeProblem{beta_fast.name, fmt::format("{} is not above beta_slow {}", scaling.beta_fast,
                                                 scaling.beta_slow)};
}

bool is_long(const RopeScaling& scaling, const RopeShape& shape) {
  return shape.length > scaling.original_positions;
}

// LongRoPE (Ding et al. 2024). Its attention factor acts with either list.
RopeAngles longrope(const RopeScaling& scaling, const RopeShape& shape) {
  const std::vector<double>& slower =
      is_long(scaling, shape) ? scaling.long_factor : scaling.short_factor;
  const auto original_context = static_cast<double>(scaling.original_positions);
  const double stretch = scaling.factor > 0.0
                             ? scaling.factor
                             : static_cast<double>(shape.positions) / original_context;
  const double computed =
      stretch <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(stretch) / std::log(original_context));
  const auto change = [&](double frequency, std::int64_t d) {
    return frequency / slower[static_cast<std::size_t>(d)];
  };
  return {frequencies(shape.theta, shape.head_size, change),
          scaling.attention_factor > 0.0 ? scaling.attention_factor : computed};
}

std::string effect_of_longrope(const RopeScaling& scaling, const RopeShape& shape) {
  const bool beyond = is_long(scaling, shape);
  return fmt::format(
      "sequences of {} tokens are {} original_max_position_embeddings {}: {} applies", shape.length,
      beyond ? "beyond" : "within", scaling.original_positions,
      beyond ? long_factor.name : short_factor.name);
}

// Llama 3.1. Pairs between the two boundaries are interpolated linearly.
RopeAngles llama3(const RopeScaling& scaling, const RopeShape& shape) {
  const double low = scaling.low_freq_factor, high = scaling.high_freq_factor;
  const auto change = [&](double frequency, std::int64_t) {
    const double turns =
        static_cast<double>(scaling.original_positions) * frequency / (2.0 * std::numbers::pi);
    if (turns >= high) return frequency;
    if (turns <= low) return frequency / scaling.factor;
    const double kept = (turns - low) / (high - low);
    return (1.0 - kept) * frequency / scaling.factor + kept * frequency;
  };
  return {frequencies(shape.theta, shape.head_size, change)};
}

Problem problem_of_llama3(const RopeScaling& scaling, const RopeShape&) {
  if (scaling.high_freq_factor > scaling.low_freq_factor) return {};
  return RopeProblem{high_freq_factor.name,
                     fmt::format("{} is not above low_freq_factor {}", scaling.high_freq_factor,
                                 scaling.low_freq_factor)};
}

constexpr RopeKind kinds[] = {
    {.name = "default", .meaning = "as trained", .uses = {}, .angles = as_trained},
    {.name = "linear",
     .meaning = "all pairs slowed by factor",
     .uses = {{&factor}},
     .angles = linear},
    {.name = "dynamic",
     .meaning = "a larger rope_theta for sequences beyond max_position_embeddings",
     .uses = {{&factor}},
     .angles = dynamic,
     .problem = problem_of_dynamic,
     .effect_of_length = effect_of_dynamic,
     .any_length = true},
    {.name = "yarn",
     .meaning = "slow pairs slowed by factor, all cosines and sines scaled",
     .uses = {{&original, Missing::positions},
              {&factor, Missing::ratio},
              {&beta_fast, Missing::number, 32},
              {&beta_slow, Missing::number, 1},
              {&truncate, Missing::number, 1},
              {&attention_factor, Missing::computed},
              {&mscale, Missing::computed},
              {&mscale_all_dim, Missing::computed}},
     .angles = yarn,
     .problem = problem_of_yarn},
    {.name = "longrope",
     .meaning = "a slowdown per pair, one list up to the original context and one beyond, all "
                "cosines and sines scaled",
     .uses = {{&original, Missing::positions},
              {&short_factor},
              {&long_factor},
              {&factor, Missing::computed},
              {&attention_factor, Missing::computed}},
     .angles = longrope,
     .effect_of_length = effect_of_longrope,
     .original_outside = true},
    {.name = "llama3",
     .meaning = "slow pairs slowed by factor (Llama 3.1)",
     .uses = {{&factor}, {&low_freq_factor}, {&high_freq_factor}, {&original, Missing::positions}},
     .angles = llama3,
     .problem = problem_of_llama3},
};

}  // namespace

std::span<const RopeKind> rope_kinds() {
  return kinds;
}

const RopeKind& rope_kind(const std::string& name) {
  const auto* const found = std::ranges::find(kinds, name, &RopeKind::name);
  check(found != std::end(kinds), "no rotary positions are called \"{}\"", name);
  return *found;
}

std::vector<const RopeKey*> rope_keys() {
  std::vector<const RopeKey*> keys;
  for (const RopeKind& kind : kinds)
    for (const RopeUse& use : kind.uses)
      if (std::ranges::find(keys, use.key) == keys.end()) keys.push_back(use.key);
  return keys;
}

RopeAngles rope_angles(const RopeScaling& scaling, const RopeShape& shape) {
  return rope_kind(scaling.type).angles(scaling, shape);
}

RopeAngles rope_angles(const ModelConfig& model, std::int64_t length) {
  return rope_angles(model.rope_scaling, rope_shape(model, length));
}

RopeShape rope_shape(const ModelConfig& model, std::int64_t length) {
  const int size = model.rotary_size > 0 ? model.rotary_size : model.head_size;
  return {model.rope_theta, size, model.positions, length};
}

std::string rope_effect_of_length(const ModelConfig& model, std::int64_t length) {
  const RopeKind& kind = rope_kind(model.rope_scaling.type);
  return kind.effect_of_length == nullptr
             ? std::string()
             : kind.effect_of_length(model.rope_scaling, rope_shape(model, length));
}

std::int64_t longest_sequence(const ModelConfig& model) {
  return rope_kind(model.rope_scaling.type).any_length ? std::numeric_limits<int>::max()
                                                       : model.positions;
}

}  // namespace triax
