// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/blend.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::int64_t end_of(const std::vector<BlendPhase>& phases, std::size_t phase) {
  return phase + 1 < phases.size() ? phases[phase + 1].begin : never;
}

}  // namespace

Blend::Blend(std::vector<BlendPhase> phases) : phases_(std::move(phases)) {
  check(!phases_.empty() && !phases_.front().units.empty(), "a blend of nothing");
  const auto& first = phases_.front().units;
  unit_ = std::accumulate(first.begin(), first.end(), std::int64_t{0});
  check(unit_ >= 1 && unit_ <= most_blend_units, "a blend of {} units", unit_);
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const auto& units = phases_[p].units;
    check(units.size() == first.size() && std::ranges::min(units) >= 0 &&
              std::ranges::max(units) <= unit_ &&
              std::accumulate(units.begin(), units.end(), std::int64_t{0}) == unit_,
          "phase {} of a blend has other units", p);
    check(phases_[p].begin >= 0 && phases_[p].begin < end_of(phases_, p), "phase {} of a blend", p);
  }
}

double Blend::share(std::size_t source, std::int64_t from, std::int64_t to) const {
  double samples = 0.0;
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const std::int64_t begin = std::max(from, phases_[p].begin);
    const std::int64_t end = std::min(to, end_of(phases_, p));
    if (begin < end)
      samples += static_cast<double>(end - begin) * static_cast<double>(phases_[p].units[source]) /
                 static_cast<double>(unit_);
  }
  return samples;
}

BlendCursor::BlendCursor(const Blend& blend)
    : BlendCursor(blend, blend.begin(), std::vector<std::int64_t>(blend.sources(), 0)) {}

// The share of a source may be beyond 64 bits, but not its distance from the count: unsigned words
// wrap to the right value of it.
BlendCursor::BlendCursor(const Blend& blend, std::int64_t sample,
                         const std::vector<std::int64_t>& counts)
    : blend_(&blend), sample_(sample), sources_(blend.sources()) {
  const auto& phases = blend.phases();
  check(sample >= blend.begin() && counts.size() == sources_.size(), "a cursor of another blend");
  bool reached = std::accumulate(counts.begin(), counts.end(), blend.begin()) == sample;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    source.count = counts[i];
    source.at = sample;
    std::uint64_t units =
        0 - static_cast<std::uint64_t>(counts[i]) * static_cast<std::uint64_t>(blend.unit());
    for (std::size_t p = 0; p < phases.size() && phases[p].begin <= sample; ++p) {
      source.phase = p;
      units += static_cast<std::uint64_t>(std::min(sample, end_of(phases, p)) - phases[p].begin) *
               static_cast<std::uint64_t>(phases[p].units[i]);
    }
    source.units = static_cast<std::int64_t>(units);
    reached &= counts[i] >= 0 && source.units < blend.unit() && -source.units < blend.unit();
    if (!reached) break;
    set_window(i);
  }
  if (!reached)
    throw Error(
        "the samples used of each source do not fit the weights that used them",
        fmt::format("{} samples were taken before sample {}", fmt::join(counts, ", "), sample),
        "Resume another checkpoint");
}

// Moves to the first position from source.at on where source.units is at least `units`.
void BlendCursor::move(Source& source, std::size_t number, std::int64_t units) const {
  const auto& phases = blend_->phases();
  while (source.units < units) {
    const std::int64_t each = phases[source.phase].units[number];
    const std::int64_t end = end_of(phases, source.phase);
    const std::int64_t steps = each > 0 ? (units - source.units + each - 1) / each : never;
    if (each > 0 && steps <= end - source.at) {
      source.at += steps;
      source.units += steps * each;
      return;
    }
    if (end == never) {
      source.at = never;
      return;
    }
    source.units += each * (end - source.at);
    source.at = end;
    ++source.phase;
  }
}

void BlendCursor::set_window(std::size_t number) {
  Source& source = sources_[number];
  Source may = source;
  move(may, number, 1);
  if (may.at == never) {
    source.may = source.must = never;
    return;
  }
  Source must = may;
  move(must, number, blend_->unit());
  source = may;
  source.may = may.at;
  source.must = must.at;
}

std::size_t BlendCursor::next() {
  const std::int64_t position = sample_ + 1;
  std::size_t taken = sources_.size();
  std::int64_t soonest = never;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (source.may > position || (source.must >= soonest && taken < sources_.size())) continue;
    taken = i;
    soonest = source.must;
  }
  check(taken < sources_.size() && soonest >= position, "the blend breaks at sample {}", sample_);
  Source& source = sources_[taken];
  ++source.count;
  source.units -= blend_->unit();
  set_window(taken);
  sample_ = position;
  return taken;
}

}  // namespace triax
