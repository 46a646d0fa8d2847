// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/weight_units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Units = std::vector<std::int64_t>;

// a * b, or nothing if it is above most_blend_units.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  if (a > 0 && b > most_blend_units / a) return {};
  return a * b;
}

// digits * 10^exponent, the shortest decimal that reads as the same double.
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;
};

Decimal decimal_of(double weight) {
  std::array<char, 40> text{};
  char* const end =
      std::to_chars(text.data(), text.data() + text.size(), weight, std::chars_format::scientific)
          .ptr;
  Decimal decimal;
  char* const e = std::find(text.data(), end, 'e');
  for (const char* c = text.data(); c < e; ++c) {
    if (*c == '.') continue;
    decimal.digits = decimal.digits * 10 + (*c - '0');
    decimal.exponent -= c > text.data() ? 1 : 0;
  }
  const char* const sign = e + 1;
  int power = 0;
  std::from_chars(*sign == '+' ? sign + 1 : sign, end, power);
  decimal.exponent += power;
  return decimal;
}

Units in_lowest_terms(Units units) {
  std::int64_t divisor = 0;
  for (const std::int64_t u : units) divisor = std::gcd(divisor, u);
  for (std::int64_t& u : units) u /= std::max<std::int64_t>(1, divisor);
  return units;
}

// The weights as integers of a sum within most_blend_units, in lowest terms; nothing if there are
// none.
std::optional<Units> exact_units(const std::vector<double>& weights) {
  std::vector<Decimal> decimals;
  std::ranges::transform(weights, std::back_inserter(decimals), decimal_of);
  int least = std::numeric_limits<int>::max();
  for (const Decimal& d : decimals)
    if (d.digits > 0) least = std::min(least, d.exponent);
  Units units;
  for (const Decimal& d : decimals) {
    std::optional<std::int64_t> value = d.digits;
    for (int e = d.digits > 0 ? least : d.exponent; value && e < d.exponent; ++e)
      value = product(*value, 10);
    if (!value) return {};
    units.push_back(*value);
  }
  units = in_lowest_terms(std::move(units));
  std::int64_t sum = 0;
  for (const std::int64_t u : units)
    if ((sum += u) > most_blend_units) return {};
  return units;
}

// Rounded to units of a sum of most_blend_units; what is left of it goes to the largest weight.
Units rounded_units(const std::vector<double>& weights) {
  const double largest = std::ranges::max(weights);
  double sum = 0.0;
  for (const double w : weights) sum += w / largest;
  Units units;
  for (const double w : weights) {
    const double part = w / largest / sum * static_cast<double>(most_blend_units);
    units.push_back(w > 0.0 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(part)) : 0);
  }
  *std::ranges::max_element(units) +=
      most_blend_units - std::accumulate(units.begin(), units.end(), std::int64_t{0});
  return units;
}

std::int64_t sum_of(const Units& units) {
  return std::accumulate(units.begin(), units.end(), std::int64_t{0});
}

}  // namespace

std::vector<std::vector<std::int64_t>> weight_units(
    const std::vector<std::vector<double>>& phases) {
  std::vector<Units> all;
  std::int64_t common = 1;
  for (const auto& weights : phases) {
    check(std::ranges::all_of(weights, [](double w) { return w >= 0.0 && std::isfinite(w); }) &&
              std::ranges::max(weights) > 0.0,
          "weights of a phase");
    const std::optional<Units> units = exact_units(weights);
    const std::int64_t sum = units ? sum_of(*units) : 1;
    const auto multiple = product(common / std::gcd(common, sum), sum);
    if (!units || !multiple) break;
    common = *multiple;
    all.push_back(*units);
  }
  if (all.size() == phases.size()) {
    for (Units& units : all)
      for (const std::int64_t factor = common / sum_of(units); std::int64_t & u : units)
        u *= factor;
    return all;
  }
  all.clear();
  std::ranges::transform(phases, std::back_inserter(all), rounded_units);
  return all;
}

double weight_at(const DataSource& source, std::int64_t step) {
  const auto found = std::ranges::find_if(source.weights, [&](const SourceWeight& weight) {
    return weight.until_step == 0 || step < weight.until_step;
  });
  check(found != source.weights.end(), "a source has no weight at step {}", step);
  return found->weight;
}

std::vector<BlendPhase> blend_phases(const DataConfig& data, std::int64_t step, std::int64_t sample,
                                     std::int64_t global_batch) {
  std::set<std::int64_t> begins = {0};
  for (const DataSource& source : data.sources)
    for (const SourceWeight& weight : source.weights)
      if (weight.until_step > 0) begins.insert(weight.until_step);
  std::vector<std::vector<double>> weights;
  for (const std::int64_t begin : begins) {
    weights.emplace_back();
    for (const DataSource& source : data.sources)
      weights.back().push_back(weight_at(source, begin));
  }
  const auto units = weight_units(weights);
  std::vector<BlendPhase> phases;
  std::size_t number = 0;
  for (const std::int64_t begin : begins) {
    const std::int64_t steps = std::max<std::int64_t>(0, begin - step);
    // No run comes to a phase beyond the integers.
    if (steps > (std::numeric_limits<std::int64_t>::max() / 2 - sample) / global_batch) break;
    if (begin <= step) phases.clear();
    phases.push_back({sample + steps * global_batch, units[number++]});
  }
  return phases;
}

std::vector<BlendPhase> phases_from(const std::vector<BlendPhase>& phases, std::int64_t sample) {
  std::vector<BlendPhase> rest;
  for (const BlendPhase& phase : phases) {
    if (phase.begin <= sample) rest.clear();
    rest.push_back({std::max(phase.begin, sample), in_lowest_terms(phase.units)});
  }
  return rest;
}

}  // namespace triax
