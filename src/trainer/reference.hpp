// SPDX-License-Identifier: Apache-2.0
#pragma once
// Log-probabilities of a run's preference data under the reference model, the one that training
// starts from: computed once, before the first step, and kept in run.directory.
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/executor/executor.hpp"
#include "src/trainer/rank_state.hpp"

namespace triax {

/// UsageError where the job compares with the weights that training starts from, and the checkpoint
/// that it resumes was trained by a loss that does not: the reference would be an older model.
void check_reference(const CheckpointHeader& resumed, const Config& config);

class Reference {
 public:
  /// Collective. Looks for the files of an earlier run. `rank` outlives the object. UsageError on
  /// all ranks where the files of data.train or data.valid are no pairs.
  explicit Reference(RankState& rank);
  /// Whether some pairs have no log-probabilities yet.
  bool missing() const { return missing_; }
  /// Collective. Computes those that are missing by the weights that the ranks hold, and writes
  /// them.
  void make();
  /// The same on all ranks, valid for the object's life. Valid: of one source.
  const ReferenceTable& train() const { return train_; }
  const ReferenceTable& valid() const { return valid_; }

 private:
  struct File {
    std::string token_file, path;
    std::int64_t first = 0, pairs = 0;  // in the order of its source's files
    bool found = false;
  };
  struct Source {
    std::vector<std::string> names;
    std::vector<File> files;
    std::vector<double>* log_probs;
  };
  void add(const std::vector<std::string>& names, std::vector<double>& log_probs);
  void find(Source& source);
  void make(const Source& source, const File& file, const TokenReader& reader);
  void compute(const TokenReader& reader, const File& file, std::span<double> log_probs);

  RankState& rank_;
  Executor executor_;
  std::string model_;  // text that differs where the reference model does
  ReferenceTable train_, valid_;
  std::vector<Source> sources_;
  bool missing_ = false;
};

}  // namespace triax
