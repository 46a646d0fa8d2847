// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loss on held-out data, by a forward-only plan.
#include <functional>
#include <optional>

#include "io/tokens/token_reader.hpp"
#include "src/config/config.hpp"
#include "src/executor/executor.hpp"
#include "src/executor/pair_numbers.hpp"

namespace triax {

/// Loss of an evaluation; of preference data, a mean over pairs with their other numbers.
struct HeldOutLoss {
  double loss = 0.0;
  std::optional<PairMetrics> pairs = {};
};

class Evaluator {
 public:
  /// `executor` runs an evaluation plan; `reader` is not shuffled. `arena`: see BatchLoader.
  Evaluator(TokenReader reader, const Config& config, const BatchShape& shape, Executor executor,
            ProcessGrid& grid, DeviceArena* arena = nullptr);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Mean loss over the label tokens of run.eval_steps global batches (0: all samples), the same on
  /// every rank. `continues` is asked between batches, on all ranks alike; nothing where it returns
  /// false. Error on all ranks if there is no label token. Collective.
  std::optional<HeldOutLoss> loss(const std::function<bool()>& continues);
  /// BatchLoader::set_reference of data.valid.
  void set_reference(const ReferenceTable* table) { batch_.set_reference(table); }
  /// Samples of data.valid that one evaluation reads.
  std::int64_t samples() const { return samples_; }

 private:
  TokenReader reader_;
  const Config& config_;
  ProcessGrid& grid_;
  std::int64_t samples_;
  std::int64_t global_batch_;
  BatchShape shape_;
  BatchLoader batch_;
  Executor executor_;
  bool counts_;  // this rank's loss enters the sum
};

}  // namespace triax
