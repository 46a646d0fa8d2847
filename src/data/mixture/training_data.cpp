// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/training_data.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/splitmix.hpp"
#include "src/data/mixture/source_names.hpp"
#include "src/data/mixture/weight_units.hpp"

namespace triax {

BlendState first_state(const DataConfig& data, std::int64_t global_batch) {
  const std::size_t sources = std::max<std::size_t>(1, data.sources.size());
  BlendState state;
  state.phases = data.sources.empty() ? std::vector<BlendPhase>{{0, {1}}}
                                      : blend_phases(data, 0, 0, global_batch);
  state.base.assign(sources, 0);
  state.orders.resize(sources);
  std::iota(state.orders.begin(), state.orders.end(), 0);
  state.used.assign(sources, 0);
  return state;
}

std::uint64_t seed_of_source(std::uint64_t seed, std::int64_t order) {
  return order == 0 ? seed : splitmix64(splitmix64(seed) ^ static_cast<std::uint64_t>(order));
}

TrainingData::TrainingData(const Config& config, std::vector<TokenReader> readers)
    : readers_(std::move(readers)),
      names_(source_names(config.data)),
      seed_(config.data.seed),
      blends_(!config.data.sources.empty()),
      stride_(std::max<std::int64_t>(1024, config.batch.global)) {
  check(names_.size() == readers_.size(), "{} readers of {} sources", readers_.size(),
        names_.size());
  set_state(first_state(config.data, config.batch.global));
}

std::int64_t TrainingData::tokens() const {
  std::int64_t all = 0;
  for (const TokenReader& reader : readers_) all += reader.tokens();
  return all;
}

std::int64_t TrainingData::samples() const {
  std::int64_t all = 0;
  for (const TokenReader& reader : readers_) all += reader.samples();
  return all;
}

bool TrainingData::has_bytes() const {
  return std::ranges::any_of(readers_, &TokenReader::has_bytes);
}

bool TrainingData::has_labels() const {
  return std::ranges::any_of(readers_, &TokenReader::has_labels);
}

void TrainingData::check_lengths() const {
  for (const TokenReader& reader : readers_) reader.check_lengths();
}

void TrainingData::sample(std::int64_t index, std::span<std::int32_t> out,
                          std::span<std::int32_t> labels, std::span<std::uint8_t> starts) const {
  const SamplePosition at = in_source(index);
  readers_[at.source].sample(at.number, out, labels, starts);
}

SamplePosition TrainingData::position(std::int64_t index) const {
  const SamplePosition at = in_source(index);
  return {at.source, readers_[at.source].position(at.number).number};
}

// Source of a sample, and its number in the order in which the source is read.
SamplePosition TrainingData::in_source(std::int64_t index) const {
  if (readers_.size() == 1) return {0, base_[0] + index - blend_->begin()};
  seek(index);
  const std::size_t source = next();
  return {source, base_[source] + cursor_->count(source) - 1};
}

void TrainingData::set_state(const BlendState& state) {
  check(state.base.size() == readers_.size() && state.orders.size() == readers_.size() &&
            state.used.size() == readers_.size(),
        "a state of {} sources", state.base.size());
  blend_.emplace(state.phases);
  base_ = state.base;
  orders_ = state.orders;
  for (std::size_t i = 0; i < readers_.size(); ++i)
    readers_[i].set_seed(seed_of_source(seed_, orders_[i]));
  std::vector<std::int64_t> counts = state.used;
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] -= base_[i];
  start_.emplace(*blend_, state.sample, counts);
  cursor_ = start_;
  for (auto& kept : kept_) kept = start_;
}

// Source of the sample at the cursor, which moves behind it. Keeps the cursor at multiples of
// stride_.
std::size_t TrainingData::next() const {
  const auto here = [&](const auto& kept) { return kept->sample() == cursor_->sample(); };
  if (cursor_->sample() % stride_ == 0 && std::ranges::none_of(kept_, here)) {
    kept_[next_kept_] = cursor_;
    next_kept_ = (next_kept_ + 1) % kept_.size();
  }
  return cursor_->next();
}

// Brings the cursor to `sample`: from where it is, or from the last kept position before.
void TrainingData::seek(std::int64_t sample) const {
  if (readers_.size() == 1) {
    cursor_.emplace(*blend_, sample, std::vector<std::int64_t>{sample - blend_->begin()});
    return;
  }
  if (sample < cursor_->sample()) {
    const std::optional<BlendCursor>* from = &start_;
    for (const auto& kept : kept_)
      if (kept->sample() <= sample && kept->sample() > (*from)->sample()) from = &kept;
    check((*from)->sample() <= sample, "sample {} is before the first of the run, {}", sample,
          start_->sample());
    cursor_ = *from;
  }
  while (cursor_->sample() < sample) next();
}

BlendState TrainingData::state_at(std::int64_t sample) const {
  BlendState state{blend_->phases(), base_, orders_, sample, base_};
  seek(sample);
  for (std::size_t i = 0; i < state.used.size(); ++i) state.used[i] += cursor_->count(i);
  return state;
}

void TrainingData::epochs_at(std::int64_t sample, std::vector<double>& epochs) const {
  seek(sample);
  epochs.resize(readers_.size());
  for (std::size_t i = 0; i < epochs.size(); ++i)
    epochs[i] = static_cast<double>(base_[i] + cursor_->count(i)) /
                static_cast<double>(readers_[i].samples());
}

}  // namespace triax
