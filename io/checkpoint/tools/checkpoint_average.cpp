// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_average.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string_view>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/tensor_pieces.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/float16.hpp"
#include "kernels/base/with_type.hpp"

namespace triax {
namespace {

constexpr std::string_view weights = "/model/", master = "/master/", tokenizer = "/tokenizer/";

std::vector<CheckpointTensor> tensors_in(const CheckpointReader& reader, std::string_view group) {
  std::vector<CheckpointTensor> found;
  for (const CheckpointTensor& tensor : reader.tensors())
    if (tensor.name.starts_with(group)) found.push_back(tensor);
  return found;
}

// Equal shares where none are given; their sum is 1.
std::vector<double> normalized(std::vector<double> shares, std::size_t files) {
  if (shares.empty()) shares.assign(files, 1.0);
  if (shares.size() != files)
    throw UsageError(fmt::format("there are {} shares for {} files", shares.size(), files), {},
                     "Give --shares one number per file, or leave it out for equal shares");
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(sum > 0.0) || !std::isfinite(sum))
    throw UsageError(fmt::format("the shares have the sum {}", sum), {},
                     "Give --shares numbers whose sum is above 0");
  for (double& share : shares) share /= sum;
  return shares;
}

UsageError different(const CheckpointReader& a, const CheckpointReader& b, const std::string& why) {
  return UsageError(fmt::format("{} and {} cannot be averaged", a.path(), b.path()), why,
                    "Name checkpoints of one model");
}

void require_same_model(const CheckpointReader& a, const CheckpointReader& b) {
  const auto left = tensors_in(a, weights), right = tensors_in(b, weights);
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    if (i >= left.size() || i >= right.size() || left[i].name != right[i].name)
      throw different(
          a, b,
          fmt::format("only one of them has the tensor {}",
                      i < left.size() && (i >= right.size() || left[i].name < right[i].name)
                          ? left[i].name
                          : right[i].name));
    if (left[i].shape != right[i].shape)
      throw different(a, b,
                      fmt::format("{} has the shape {} in the first, {} in the second",
                                  left[i].name, left[i].shape.text(), right[i].shape.text()));
  }
  if (a.header().model != b.header().model)
    throw different(a, b, "their models differ (triax checkpoint diff names the keys)");
  if (a.header().adapter != b.header().adapter)
    throw different(a, b, "they hold adapters of different bases or settings");
}

// Writes the values in the tensor's type, rounded to nearest.
void write_values(CheckpointWriter& writer, const CheckpointTensor& tensor,
                  const TensorPiece& piece, const std::vector<double>& values) {
  with_type(tensor.dtype, [&]<class T>(Type<T>) {
    std::vector<T> typed(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) typed[i] = static_cast<float>(values[i]);
    writer.write(tensor.name, hdf5::flat_range_boxes(tensor.shape, piece.begin, piece.end),
                 Tensor(typed.data(), tensor.dtype, {std::ssize(values)}));
  });
}

class Average {
 public:
  Average(const std::vector<std::string>& files, std::vector<double> shares, const Ranks& ranks)
      : ranks_(ranks), shares_(std::move(shares)) {
    for (const std::string& file : files) {
      readers_.push_back(std::make_unique<CheckpointReader>(file, ranks));
      require_same_model(*readers_.front(), *readers_.back());
    }
    newest_ = readers_.front().get();
    for (const auto& reader : readers_)
      if (reader->header().step > newest_->header().step) newest_ = reader.get();
    list_tensors();
  }

  // Damaged weights would be averaged in silence.
  void verify() const {
    for (const auto& reader : readers_)
      for (const std::string_view group : {weights, master})
        require_whole(reader->path(), ranks_, std::string(group));
  }

  AverageSummary write(const std::string& out, Existing existing) {
    CheckpointHeader header = newest_->header();
    header.parts.clear();
    header.loss_scale.clear();
    CheckpointWriter writer(out, ranks_, {.existing = existing});
    std::vector<CheckpointTensor> all = averaged_;
    const auto kept = tensors_in(*newest_, tokenizer);
    all.insert(all.end(), kept.begin(), kept.end());
    writer.create(header, all);
    average(writer);
    if (ranks_.rank == 0) copy(writer, kept);
    writer.publish();
    AverageSummary sum;
    sum.step = header.step;
    sum.type = averaged_.front().dtype;
    for (const CheckpointTensor& tensor : averaged_) {
      if (!tensor.name.starts_with(weights)) continue;
      ++sum.tensors;
      sum.bytes += tensor.bytes();
    }
    return sum;
  }

 private:
  // /master/<name> of all weights that every file has in float32.
  void list_tensors() {
    averaged_ = tensors_in(*readers_.front(), weights);
    if (averaged_.empty())
      throw UsageError(fmt::format("{} has no weights", readers_.front()->path()), {},
                       "Name checkpoints of a model");
    for (const CheckpointTensor& tensor : std::vector(averaged_)) {
      const std::string name = master_of(tensor.name);
      if (std::ranges::all_of(readers_, [&](const auto& reader) { return reader->contains(name); }))
        averaged_.push_back({name, DType::f32, tensor.shape});
    }
  }

  static std::string master_of(const std::string& name) {
    return std::string(master) + name.substr(weights.size());
  }

  // The name under which all files have the best values of a weight.
  std::string source_of(const CheckpointTensor& tensor) const {
    if (tensor.name.starts_with(master)) return tensor.name;
    const std::string name = master_of(tensor.name);
    const bool have = std::ranges::any_of(
        averaged_, [&](const CheckpointTensor& one) { return one.name == name; });
    return have ? name : tensor.name;
  }

  void average(CheckpointWriter& writer) {
    std::vector<PieceReader> read;
    for (const auto& reader : readers_) read.emplace_back(*reader);
    const TensorPieces pieces(averaged_, piece_elements, ranks_);
    std::vector<double> values;
    try {
      pieces.each_own([&](std::int64_t, const TensorPiece& piece) {
        const CheckpointTensor& tensor = averaged_[piece.tensor];
        const std::string source = source_of(tensor);
        values.assign(static_cast<std::size_t>(piece.end - piece.begin), 0.0);
        for (std::size_t f = 0; f < readers_.size(); ++f) {
          const auto own = read[f].read(readers_[f]->tensor(source), piece);
          for (std::size_t i = 0; i < own.size(); ++i) values[i] += shares_[f] * own[i];
        }
        if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
          throw Error(fmt::format("the average of {} is not finite", tensor.name),
                      "a file has NaN or infinite weights", "triax checkpoint inspect names it");
        write_values(writer, tensor, piece, values);
      });
    } catch (const Error& error) {
      writer.fail(error.what());  // publish() throws it on all ranks
    }
  }

  void copy(CheckpointWriter& writer, const std::vector<CheckpointTensor>& tensors) {
    try {
      for (const CheckpointTensor& tensor : tensors) {
        std::vector<std::byte> data(static_cast<std::size_t>(tensor.bytes()));
        const std::vector<hdf5::Box> whole = {{{}, tensor.shape}};
        const Tensor values(data.data(), tensor.dtype, tensor.shape);
        newest_->read(tensor.name, whole, values);
        writer.write(tensor.name, whole, values);
      }
    } catch (const Error& error) {
      writer.fail(error.what());
    }
  }

  Ranks ranks_;
  std::vector<double> shares_;
  std::vector<std::unique_ptr<CheckpointReader>> readers_;
  const CheckpointReader* newest_ = nullptr;
  std::vector<CheckpointTensor> averaged_;
};

}  // namespace

AverageSummary average_checkpoints(const std::vector<std::string>& files,
                                   const std::vector<double>& shares, const std::string& out,
                                   Existing existing, const Ranks& ranks) {
  Average average(files, normalized(shares, files.size()), ranks);
  average.verify();
  return average.write(out, existing);
}

}  // namespace triax
