// SPDX-License-Identifier: Apache-2.0
#include "src/executor/batch_loader.hpp"

#include <algorithm>
#include <span>

#include "src/executor/labels.hpp"

namespace triax {
namespace {

constexpr std::int32_t padding = -1;

}  // namespace

BatchLoader::BatchLoader(const SampleReader& reader, const BatchConfig& batch,
                         const BatchShape& shape, int data_size, int data_rank, DeviceArena* arena)
    : reader_(reader),
      batch_(batch),
      shape_(shape),
      data_size_(data_size),
      data_rank_(data_rank),
      memory_({shape.space, arena}, static_cast<std::size_t>(bytes_of(batch, shape)), "batches"),
      sample_(static_cast<std::size_t>(shape.sequence) + 1),
      labels_(reader.has_labels() ? sample_.size() : 0),
      starts_(shape.documents ? sample_.size() : 0) {
  for (int m = 0; m < microbatches(); ++m)
    for (int which = 0; which < numbers_of(shape_); ++which) {
      const Tensor padded = row(memory_.here(), which, m);
      std::fill_n(padded.as<std::int32_t>(), padded.elements(), padding);
    }
}

std::int64_t BatchLoader::first_sample(int microbatch) const {
  return (static_cast<std::int64_t>(microbatch) * data_size_ + data_rank_) * batch_.micro;
}

void BatchLoader::load(const Stream& stream, std::int64_t first, std::int64_t end) {
  pushed_.synchronize();
  const std::int64_t t = shape_.sequence;
  const std::vector<std::int32_t>& unshifted = labels_.empty() ? sample_ : labels_;
  label_tokens_ = 0;
  for (int m = 0; m < microbatches(); ++m)
    for (std::int64_t b = 0; b < batch_.micro; ++b) {
      const std::int64_t number = first + first_sample(m) + b;
      if (number < end) {
        reader_.sample(number, sample_, labels_, starts_);
      } else {
        std::ranges::fill(sample_, padding);
        std::ranges::fill(labels_, padding);
        std::ranges::fill(starts_, std::uint8_t{1});
      }
      std::copy_n(sample_.begin(), t, row(memory_.here(), 0, m).as<std::int32_t>() + b * t);
      const auto of_sample = [&](int which) {
        return std::span(row(memory_.here(), which, m).as<std::int32_t>() + b * t,
                         static_cast<std::size_t>(t));
      };
      label_tokens_ += shift_labels(unshifted, of_sample(1));
      if (shape_.documents) count_positions(starts_, of_sample(2));
    }
  reader_.check_lengths();
  memory_.push(stream);
  pushed_.record(stream);
}

}  // namespace triax
