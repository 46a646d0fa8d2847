#include "src/train/batch_loader.hpp"

#include <algorithm>

namespace triax {

BatchLoader::BatchLoader(const TokenReader& reader, const BatchConfig& batch,
                         const BatchShape& shape, int data_size, int data_rank)
    : reader_(reader),
      batch_(batch),
      shape_(shape),
      data_size_(data_size),
      data_rank_(data_rank),
      tokens_(static_cast<std::size_t>(batch.accumulation * shape.rows), -1),
      labels_(tokens_),
      sample_(static_cast<std::size_t>(shape.sequence) + 1) {}

std::int64_t BatchLoader::first_sample(int microbatch) const {
  return (static_cast<std::int64_t>(microbatch) * data_size_ + data_rank_) * batch_.micro;
}

void BatchLoader::load(std::int64_t first, std::int64_t end) {
  constexpr std::int32_t padding = -1;
  const std::int64_t t = shape_.sequence;
  for (int m = 0; m < microbatches(); ++m)
    for (std::int64_t b = 0; b < batch_.micro; ++b) {
      const std::int64_t number = first + first_sample(m) + b;
      if (number < end)
        reader_.sample(number, sample_);
      else
        std::fill(sample_.begin(), sample_.end(), padding);
      const std::int64_t at = m * shape_.rows + b * t;
      std::copy_n(sample_.begin(), t, tokens_.begin() + at);
      std::copy_n(sample_.begin() + 1, t, labels_.begin() + at);
    }
}

}  // namespace triax
