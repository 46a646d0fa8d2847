// SPDX-License-Identifier: Apache-2.0
#pragma once
// The training samples of a run: of one source, or of several that are blended to weights. Which
// source and which of its samples a number stands for does not depend on the process grid.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/tokens/token_reader.hpp"
#include "src/config/config.hpp"
#include "src/data/mixture/blend.hpp"

namespace triax {

/// Position of a run in its sources, from which it goes on at `sample`. Counts are of all
/// training, in samples of each source.
struct BlendState {
  std::vector<BlendPhase> phases = {};    // the first begins with the blend
  std::vector<std::int64_t> base = {};    // used before the blend
  std::vector<std::int64_t> orders = {};  // number of each source in the key of its permutation
  std::int64_t sample = 0;                // not before the blend's begin
  std::vector<std::int64_t> used = {};    // before `sample`
  bool operator==(const BlendState&) const = default;
};

/// State at the begin of training; of one source with weight 1 where data.sources is empty.
BlendState first_state(const DataConfig& data, std::int64_t global_batch);

/// Seed of the permutations of a source; order 0 has data.seed itself.
std::uint64_t seed_of_source(std::uint64_t seed, std::int64_t order);

class TrainingData final : public SampleReader {
 public:
  /// `readers`: one per source, shuffled by data.seed or not. They begin at first_state().
  TrainingData(const Config& config, std::vector<TokenReader> readers);
  TrainingData(TrainingData&&) = delete;  // its cursors point at the blend

  std::int64_t tokens() const override;
  std::int64_t samples() const override;
  bool has_bytes() const override;
  bool has_labels() const override;
  /// Not from several threads. Fast for samples behind the last one, and for those of the last
  /// global batches.
  void sample(std::int64_t index, std::span<std::int32_t> out, std::span<std::int32_t> labels = {},
              std::span<std::uint8_t> starts = {}) const override;
  /// As fast as sample().
  SamplePosition position(std::int64_t index) const override;
  void check_lengths() const override;

  /// Whether the job blends sources, even if there is only one.
  bool blends() const { return blends_; }
  std::size_t sources() const { return readers_.size(); }
  const TokenReader& reader(std::size_t source) const { return readers_[source]; }
  const std::string& name(std::size_t source) const { return names_[source]; }
  const Blend& blend() const { return *blend_; }

  /// Goes on with another state.
  void set_state(const BlendState& state);
  /// State of a run whose next sample is `sample`, at or behind that of the last set_state().
  BlendState state_at(std::int64_t sample) const;
  /// Fills in the epochs of each source before `sample`.
  void epochs_at(std::int64_t sample, std::vector<double>& epochs) const;

 private:
  SamplePosition in_source(std::int64_t index) const;
  void seek(std::int64_t sample) const;
  std::size_t next() const;

  std::vector<TokenReader> readers_;
  std::vector<std::string> names_;
  std::uint64_t seed_;
  bool blends_;
  std::int64_t stride_;
  std::optional<Blend> blend_;
  std::vector<std::int64_t> base_, orders_;
  // The cursor, and earlier ones: the start, and the last multiples of stride_.
  mutable std::optional<BlendCursor> cursor_, start_;
  mutable std::array<std::optional<BlendCursor>, 4> kept_;
  mutable std::size_t next_kept_ = 0;
};

}  // namespace triax
