// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which samples of several sources are blended.
//
// The share A(n) of a source is the sum of its weights over the first n samples. Its m-th sample
// may come as soon as A(n) > m - 1, and must have come when A(n) >= m. Each sample is taken from
// that source, of those that may, which must soonest; of several, from the first in the list. After
// any number of samples the count of each source is then its share, rounded up or down: within one
// sample of it, whatever the weights and wherever they change.
//
// Proof. Samples that may come only after a and must have come by b number at most
// floor(A(b)) - ceil(A(a)) for each source, and so at most b - a together: an order that meets
// every deadline exists (Hall), and the earliest deadline first finds it (Jackson). Some source may
// always be taken: if each had ceil(A(n)) samples already, n samples would have been taken before
// the n-th. (Tijdeman 1980, The chairman assignment problem; Baruah et al. 1996, Proportionate
// progress.) All arithmetic is on integers, which stay below 2^54 at any position.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace triax {

/// Weights from sample `begin` on, in integer units. The units of every phase of a blend have the
/// same sum.
struct BlendPhase {
  std::int64_t begin = 0;
  std::vector<std::int64_t> units = {};  // one per source
  bool operator==(const BlendPhase&) const = default;
};

/// Largest sum of the units of a phase.
inline constexpr std::int64_t most_blend_units = std::int64_t{1} << 52;

/// Phases of weights, in the order of their begins; the first begins with the blend.
class Blend {
 public:
  explicit Blend(std::vector<BlendPhase> phases);
  const std::vector<BlendPhase>& phases() const { return phases_; }
  std::size_t sources() const { return phases_.front().units.size(); }
  std::int64_t begin() const { return phases_.front().begin; }
  /// Sum of a phase's units: those of one sample.
  std::int64_t unit() const { return unit_; }
  /// Share of a source in samples [from, to), rounded, for reports.
  double share(std::size_t source, std::int64_t from, std::int64_t to) const;

 private:
  std::vector<BlendPhase> phases_;
  std::int64_t unit_ = 0;
};

/// A position in a blend. Copying one remembers a position; nothing is allocated where the copy has
/// the size already.
class BlendCursor {
 public:
  /// At the begin of the blend, which outlives the cursor.
  explicit BlendCursor(const Blend& blend);
  /// At `sample`, where `counts` samples of each source have been taken since the blend's begin.
  /// Error if the blend never has these counts there.
  BlendCursor(const Blend& blend, std::int64_t sample, const std::vector<std::int64_t>& counts);
  std::int64_t sample() const { return sample_; }
  /// Samples of a source since the blend's begin.
  std::int64_t count(std::size_t source) const { return sources_[source].count; }
  /// Source of the sample here. Moves behind it.
  std::size_t next();

 private:
  // Next sample of a source. Positions are numbers of samples from the start of training.
  struct Source {
    std::int64_t count = 0;
    std::size_t phase = 0;   // of `at`
    std::int64_t at = 0;     // a position
    std::int64_t units = 0;  // share of the source at `at` beyond `count` samples
    std::int64_t may = 0, must = 0;
  };
  void move(Source& source, std::size_t number, std::int64_t units) const;
  void set_window(std::size_t number);

  const Blend* blend_;
  std::int64_t sample_;
  std::vector<Source> sources_;
};

}  // namespace triax
