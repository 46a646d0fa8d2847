// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokens of one step on one data rank, cut into micro-batches.
#include <cstdint>
#include <limits>
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

/// Sample j of the global batch goes to micro-batch j / (micro * data size), data rank (j / micro)
/// % data size: a micro-batch holds neighbouring samples. The samples of a step do not depend on
/// this cut.
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
            std::int64_t end = std::numeric_limits<std::int64_t>::max());

  /// Bytes that a loader takes in memory of shape.space, and again in host memory if that differs.
  static std::int64_t bytes_of(const BatchConfig& batch, const BatchShape& shape) {
    return numbers_of(shape) * batch.accumulation * shape.rows *
           static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  /// Done when the last batch is on the device. load() waits for it before the host writes again.
  const Event& pushed() const { return pushed_; }
  int microbatches() const { return static_cast<int>(batch_.accumulation); }
  /// Label tokens of this data rank in the last batch.
  std::int64_t label_tokens() const { return label_tokens_; }
  /// Inputs and labels of a micro-batch: (rows) int32, -1 in padded rows; labels are shifted, and
  /// negative where the loss ignores the row.
  Tensor tokens(int microbatch) const { return row(memory_.there(), 0, microbatch); }
  Tensor labels(int microbatch) const { return row(memory_.there(), 1, microbatch); }
  /// Positions of the tokens in their documents, (rows) int32, -1 in padded rows; empty unless
  /// shape.documents.
  Tensor positions(int microbatch) const {
    return shape_.documents ? row(memory_.there(), 2, microbatch) : Tensor{};
  }
  /// Number of the micro-batch's first sample within the global batch.
  std::int64_t first_sample(int microbatch) const;

 private:
  // Numbers of a row: token, label, and position in its document.
  static std::int64_t numbers_of(const BatchShape& shape) { return shape.documents ? 3 : 2; }
  // Tokens (0), labels (1) or positions (2) of a micro-batch in a batch, (numbers, microbatches,
  // rows).
  Tensor row(const Memory& memory, int which, int microbatch) const {
    return memory.tensor(DType::i32, {numbers_of(shape_) * batch_.accumulation, shape_.rows})
        .slice(0, which * batch_.accumulation + microbatch, 1)
        .flat();
  }
  const SampleReader& reader_;
  BatchConfig batch_;
  BatchShape shape_;
  int data_size_, data_rank_;
  Mirror memory_;                     // tokens, labels and positions of all micro-batches
  Event pushed_;                      // the copy to the device
  std::vector<std::int32_t> sample_;  // (T + 1)
  std::vector<std::int32_t> labels_;  // (T + 1), unshifted; empty: the tokens themselves
  std::vector<std::uint8_t> starts_;  // (T + 1), of documents; empty without documents
  std::int64_t label_tokens_ = 0;
};

}  // namespace triax
