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
      per_sample_(shape.batch / batch.micro),
      data_size_(data_size),
      data_rank_(data_rank),
      memory_({shape.space, arena}, static_cast<std::size_t>(bytes_of(batch, shape)), "batches"),
      sample_(static_cast<std::size_t>(per_sample_ * shape.sequence) + 1),
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

// The memory holds the references of all micro-batches, then tokens, labels and positions.
Tensor BatchLoader::reference_row(const Memory& memory, int microbatch) const {
  if (!shape_.pairs) return {};
  return memory.tensor(DType::f64, {batch_.accumulation, shape_.batch})
      .slice(0, microbatch, 1)
      .flat();
}

// Tokens (0), labels (1) or positions (2) of a micro-batch.
Tensor BatchLoader::row(const Memory& memory, int which, int microbatch) const {
  const std::int64_t ids = numbers_of(shape_) * batch_.accumulation * shape_.rows;
  const std::int64_t before = batch_.accumulation * references(shape_) * reference_bytes /
                              static_cast<std::int64_t>(sizeof(std::int32_t));
  return memory.tensor(DType::i32, {before + ids})
      .slice(0, before + (which * batch_.accumulation + microbatch) * shape_.rows, shape_.rows);
}

std::span<const double> BatchLoader::written(int microbatch) const {
  return {reference_row(memory_.here(), microbatch).as<double>(),
          static_cast<std::size_t>(shape_.batch)};
}

void BatchLoader::load(const Stream& stream, const SampleReader& reader, std::int64_t first,
                       std::int64_t end) {
  pushed_.synchronize();
  counts_ = {};
  for (int m = 0; m < microbatches(); ++m)
    for (std::int64_t b = 0; b < batch_.micro; ++b) {
      const std::int64_t number = first + first_sample(m) + b;
      if (number < end) {
        reader.sample(number, sample_, labels_, starts_);
      } else {
        std::ranges::fill(sample_, padding);
        std::ranges::fill(labels_, padding);
        std::ranges::fill(starts_, std::uint8_t{1});
      }
      put(reader, number < end ? number : -1, m, b);
    }
  reader.check_lengths();
  memory_.push(stream);
  pushed_.record(stream);
}

// Writes the sample that was read last as number `place` of a micro-batch. number -1: none was.
void BatchLoader::put(const SampleReader& reader, std::int64_t number, int m, std::int64_t place) {
  const std::int64_t t = shape_.sequence;
  const auto length = static_cast<std::size_t>(t);
  const std::span<const std::int32_t> unshifted = labels_.empty() ? sample_ : labels_;
  const std::int64_t at = place * per_sample_ * t;
  const std::span<std::int32_t> labels(row(memory_.here(), 1, m).as<std::int32_t>() + at,
                                       sample_.size() - 1);
  std::copy_n(sample_.begin(), labels.size(), row(memory_.here(), 0, m).as<std::int32_t>() + at);
  if (!shape_.pairs) {
    counts_.tokens += shift_labels(unshifted, labels);
    if (shape_.documents)
      count_positions(starts_, {row(memory_.here(), 2, m).as<std::int32_t>() + at, labels.size()});
    return;
  }
  for (std::int64_t s = 0; s < per_sample_; ++s) {
    const auto begin = static_cast<std::size_t>(s * t);
    shift_labels(unshifted.subspan(begin, length + 1), labels.subspan(begin, length));
    labels[begin + length - 1] = padding;  // behind it begins another sequence
  }
  count(labels);
  if (table_ == nullptr) return;
  double* const reference = reference_row(memory_.here(), m).as<double>() + place * per_sample_;
  std::fill_n(reference, per_sample_, 0.0);
  if (number < 0) return;
  const SamplePosition position = reader.position(number);
  std::copy_n((*table_)[position.source].begin() + position.number * per_sample_, per_sample_,
              reference);
}

// Counts the labels of a pair.
void BatchLoader::count(std::span<const std::int32_t> labels) {
  const auto tokens = [](std::span<const std::int32_t> of) {
    return std::ranges::count_if(of, [](std::int32_t label) { return label >= 0; });
  };
  const std::int64_t chosen = tokens(labels.first(labels.size() / 2));
  const std::int64_t rejected = tokens(labels.subspan(labels.size() / 2));
  counts_.tokens += chosen + rejected;
  if (chosen == 0 || rejected == 0) return;
  ++counts_.pairs;
  counts_.chosen += chosen;
}

}  // namespace triax
