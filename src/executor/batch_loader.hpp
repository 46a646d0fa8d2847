// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokens of one step on one data rank, cut into micro-batches.
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "io/tokens/sample_reader.hpp"
#include "kernels/base/device/mirror.hpp"
#include "src/config/config.hpp"
#include "src/model/context.hpp"
#include "src/model/stage/stage.hpp"

namespace triax {

/// Whether a stage reads tokens, labels or positions.
inline bool reads_batches(const Stage& stage, const BatchShape& shape) {
  return stage.has_embedding() || stage.has_head() || shape.documents;
}

/// Log-probabilities of the sequences of all samples under the reference model, by source and, in
/// it, by SamplePosition::number: those of a chosen and a rejected answer are neighbours.
using ReferenceTable = std::vector<std::vector<double>>;

/// Labels of a batch on this data rank.
struct LabelCounts {
  std::int64_t tokens = 0;  // with a label
  std::int64_t pairs = 0;   // of preference data, with labels in both sequences
  std::int64_t chosen = 0;  // label tokens of the chosen sequences of these pairs
};

/// Sample j of the global batch goes to micro-batch j / (micro * data size), data rank (j / micro)
/// % data size: a micro-batch holds neighbouring samples. The samples of a step do not depend on
/// this cut. A sample of preference data is two sequences of the batch.
class BatchLoader {
 public:
  /// `reader` outlives the loader. The batch lies in memory of shape.space, in the region "batches"
  /// of `arena` if there is one.
  BatchLoader(const SampleReader& reader, const BatchConfig& batch, const BatchShape& shape,
              int data_size, int data_rank, DeviceArena* arena = nullptr);
  /// Reads the global batch that begins with sample `first`, counted from the start of training.
  /// Samples from `end` on are left out: their rows are padding. Later work on `stream` sees the
  /// batch.
  void load(const Stream& stream, std::int64_t first,
            std::int64_t end = std::numeric_limits<std::int64_t>::max()) {
    load(stream, reader_, first, end);
  }
  /// The same from another reader, of samples of the same length.
  void load(const Stream& stream, const SampleReader& reader, std::int64_t first, std::int64_t end);
  /// From now on batches have the reference's log-probabilities of these samples; null: zeros. The
  /// table outlives the loader.
  void set_reference(const ReferenceTable* table) { table_ = table; }

  /// Bytes that a loader takes in memory of shape.space, and again in host memory if that differs.
  static std::int64_t bytes_of(const BatchConfig& batch, const BatchShape& shape) {
    const std::int64_t ids =
        numbers_of(shape) * shape.rows * static_cast<std::int64_t>(sizeof(std::int32_t));
    return batch.accumulation * (ids + references(shape) * reference_bytes);
  }

  /// Done when the last batch is on the device. load() waits for it before the host writes again.
  const Event& pushed() const { return pushed_; }
  int microbatches() const { return static_cast<int>(batch_.accumulation); }
  /// Labels of this data rank in the last batch.
  const LabelCounts& counts() const { return counts_; }
  std::int64_t label_tokens() const { return counts_.tokens; }
  /// Inputs and labels of a micro-batch: (rows) int32, -1 in padded rows; labels are shifted, and
  /// negative where the loss ignores the row.
  Tensor tokens(int microbatch) const { return row(memory_.there(), 0, microbatch); }
  Tensor labels(int microbatch) const { return row(memory_.there(), 1, microbatch); }
  /// Positions of the tokens in their documents, (rows) int32, -1 in padded rows; empty unless
  /// shape.documents.
  Tensor positions(int microbatch) const {
    return shape_.documents ? row(memory_.there(), 2, microbatch) : Tensor{};
  }
  /// Log-probabilities of the micro-batch's sequences under the reference model: (B) float64; empty
  /// unless they are pairs. A stream may write them.
  Tensor reference(int microbatch) const { return reference_row(memory_.there(), microbatch); }
  /// Log-probabilities of a micro-batch as a stream wrote them, on the host after pull().
  std::span<const double> written(int microbatch) const;
  void pull(const Stream& stream) const { memory_.pull(stream); }
  /// Number of the micro-batch's first sample, and of its first sequence, within the global batch.
  std::int64_t first_sample(int microbatch) const;
  std::int64_t first_row(int microbatch) const { return first_sample(microbatch) * per_sample_; }

 private:
  // Numbers of a row: token, label, and position in its document.
  static std::int64_t numbers_of(const BatchShape& shape) { return shape.documents ? 3 : 2; }
  static constexpr std::int64_t reference_bytes = sizeof(double);
  // Reference log-probabilities of a micro-batch.
  static std::int64_t references(const BatchShape& shape) { return shape.pairs ? shape.batch : 0; }
  Tensor row(const Memory& memory, int which, int microbatch) const;
  Tensor reference_row(const Memory& memory, int microbatch) const;
  void put(const SampleReader& reader, std::int64_t number, int microbatch, std::int64_t place);
  void count(std::span<const std::int32_t> labels);
  const SampleReader& reader_;
  BatchConfig batch_;
  BatchShape shape_;
  std::int64_t per_sample_;  // sequences
  int data_size_, data_rank_;
  Mirror memory_;  // references, tokens, labels and positions of all micro-batches
  Event pushed_;   // the copy to the device
  std::vector<std::int32_t> sample_;  // a sample's tokens and one more
  std::vector<std::int32_t> labels_;  // of these, unshifted; empty: the tokens themselves
  std::vector<std::uint8_t> starts_;  // of these, of documents; empty without documents
  LabelCounts counts_;
  const ReferenceTable* table_ = nullptr;
};

}  // namespace triax
