// SPDX-License-Identifier: Apache-2.0
#include "src/analyze/checkpoint_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/check.hpp"
#include "src/analyze/singular_values.hpp"

namespace triax {
namespace {

constexpr std::string_view weights = "/model/";

std::vector<CheckpointTensor> analyzed_tensors(const CheckpointReader& reader, bool optimizer) {
  std::vector<CheckpointTensor> found;
  for (const CheckpointTensor& tensor : reader.tensors())
    if (tensor.name.starts_with(weights) || (optimizer && tensor.dtype != DType::u8))
      found.push_back(tensor);
  return found;
}

void require_same(const CheckpointReader& a, const CheckpointReader& b,
                  const std::vector<CheckpointTensor>& tensors) {
  for (const CheckpointTensor& tensor : tensors)
    if (!b.contains(tensor.name) || b.shape(tensor.name) != tensor.shape)
      throw UsageError(
          fmt::format("{} and {} cannot be compared", a.path(), b.path()),
          fmt::format("the second has no {} of the shape {}", tensor.name, tensor.shape.text()),
          "Name checkpoints of one model");
}

// The tensor in float32.
std::vector<float> values_of(const CheckpointReader& reader, const CheckpointTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  reader.read(tensor.name, {{{}, tensor.shape}}, Tensor(values.data(), tensor.shape));
  return values;
}

TensorAnalysis analysis_of(std::vector<float> values, const Shape& shape, int count) {
  TensorAnalysis one;
  double squares = 0.0;
  for (float& value : values) {
    if (!std::isfinite(value)) {
      ++one.bad;
      value = 0.0F;
    }
    squares += double{value} * value;
    one.largest = std::max(one.largest, std::abs(double{value}));
  }
  one.norm = std::sqrt(squares);
  if (count > 0 && shape.rank() == 2 && std::min(shape[0], shape[1]) > 1)
    one.singular = leading_singular_values(Tensor(values.data(), shape), count);
  return one;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - b[i];
    if (std::isfinite(difference)) squares += difference * difference;
  }
  return std::sqrt(squares);
}

// Numbers of an analysis as ranks exchange them: fixed ones, then the singular values.
constexpr std::size_t fixed_numbers = 5;

void store(const TensorAnalysis& one, std::span<double> numbers) {
  numbers[0] = one.norm, numbers[1] = one.largest, numbers[2] = one.bad, numbers[3] = one.drift;
  numbers[4] = static_cast<double>(one.singular.size());
  std::ranges::copy(one.singular, numbers.begin() + fixed_numbers);
}

TensorAnalysis loaded(std::span<const double> numbers) {
  TensorAnalysis one;
  one.norm = numbers[0], one.largest = numbers[1], one.bad = numbers[2], one.drift = numbers[3];
  const auto count = static_cast<std::size_t>(numbers[4]);
  const auto values = numbers.subspan(fixed_numbers, count);
  one.singular.assign(values.begin(), values.end());
  return one;
}

// Last part of a path and the part before, which tell the layers of transformers apart.
std::string short_name(const std::string& file) {
  return file.substr(file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1);
}

std::string row_text(const AnalyzedTensor& tensor, std::size_t file, std::size_t width) {
  const TensorAnalysis& one = tensor.files[file];
  const double elements = static_cast<double>(tensor.shape.elements());
  std::string text = fmt::format("{:<{}} {:>16} {:>10.4g} {:>10.4g} {:>10.4g}", tensor.name, width,
                                 tensor.shape.text(), one.norm,
                                 elements > 0 ? one.norm / std::sqrt(elements) : 0.0, one.largest);
  if (one.singular.empty())
    text += fmt::format(" {:>10} {:>8} {:>6}", "", "", "");
  else
    text += fmt::format(" {:>10.4g} {:>8.1f} {:>6}", one.singular.front(), one.stable_rank(),
                        one.rank90() > 0 ? fmt::format("{}", one.rank90())
                                         : fmt::format(">{}", one.singular.size()));
  if (file > 0)
    text += fmt::format(" {:>10.4g} {:>8.3g}", one.drift,
                        tensor.files[0].norm > 0 ? one.drift / tensor.files[0].norm : 0.0);
  if (one.bad > 0) text += fmt::format("  {:.0f} not finite", one.bad);
  return text + "\n";
}

}  // namespace

double TensorAnalysis::stable_rank() const {
  if (singular.empty() || singular.front() <= 0.0) return 0.0;
  return norm * norm / (singular.front() * singular.front());
}

int TensorAnalysis::rank90() const {
  double squares = 0.0;
  for (std::size_t i = 0; i < singular.size(); ++i) {
    squares += singular[i] * singular[i];
    if (squares >= 0.9 * norm * norm) return static_cast<int>(i) + 1;
  }
  return 0;
}

CheckpointAnalysis analyze_checkpoints(const std::vector<std::string>& files, bool optimizer,
                                       int values, const Ranks& ranks) {
  std::vector<std::unique_ptr<CheckpointReader>> readers;
  CheckpointAnalysis analysis;
  analysis.files = files;
  for (const std::string& file : files) {
    readers.push_back(std::make_unique<CheckpointReader>(file, ranks));
    analysis.steps.push_back(readers.back()->header().step);
  }
  const std::vector<CheckpointTensor> tensors = analyzed_tensors(*readers.front(), optimizer);
  for (const auto& reader : readers) require_same(*readers.front(), *reader, tensors);
  const std::size_t per_file = fixed_numbers + static_cast<std::size_t>(values);
  const std::size_t per_tensor = per_file * files.size();
  std::vector<double> numbers(per_tensor * tensors.size());
  const auto numbers_of = [&](std::size_t t, std::size_t file) {
    return std::span(numbers).subspan(t * per_tensor + file * per_file, per_file);
  };
  agreed(ranks, [&] {
    for (std::size_t t = static_cast<std::size_t>(ranks.rank); t < tensors.size();
         t += static_cast<std::size_t>(ranks.size)) {
      const std::vector<float> first = values_of(*readers.front(), tensors[t]);
      for (std::size_t file = 0; file < files.size(); ++file) {
        std::vector<float> own = file == 0 ? first : values_of(*readers[file], tensors[t]);
        const double drift = distance(first, own);
        TensorAnalysis one = analysis_of(std::move(own), tensors[t].shape, values);
        one.drift = drift;
        store(one, numbers_of(t, file));
      }
    }
  });
  sum_over_ranks(ranks, numbers);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    AnalyzedTensor& tensor =
        analysis.tensors.emplace_back(AnalyzedTensor{tensors[t].name, tensors[t].shape, {}});
    for (std::size_t file = 0; file < files.size(); ++file)
      tensor.files.push_back(loaded(numbers_of(t, file)));
  }
  return analysis;
}

std::string analysis_text(const CheckpointAnalysis& analysis) {
  std::size_t width = 4;
  for (const AnalyzedTensor& tensor : analysis.tensors) width = std::max(width, tensor.name.size());
  std::string text;
  for (std::size_t file = 0; file < analysis.files.size(); ++file) {
    text += fmt::format("{}{}, step {}\n{:<{}} {:>16} {:>10} {:>10} {:>10} {:>10} {:>8} {:>6}{}\n",
                        file > 0 ? "\n" : "", short_name(analysis.files[file]),
                        analysis.steps[file], "name", width, "shape", "norm", "rms", "largest",
                        "sigma 1", "stable", "90%", file > 0 ? "      drift relative" : "");
    for (const AnalyzedTensor& tensor : analysis.tensors) text += row_text(tensor, file, width);
  }
  return text +
         "\nsigma 1: largest singular value. stable: rank |A|^2 / sigma 1^2. 90%: singular values "
         "with 90% of\nthe squared norm. drift: norm of the change since the first file, and as a "
         "share of its norm.\n";
}

std::string analysis_json(const CheckpointAnalysis& analysis) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (std::size_t file = 0; file < analysis.files.size(); ++file) {
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    for (const AnalyzedTensor& tensor : analysis.tensors) {
      const TensorAnalysis& one = tensor.files[file];
      nlohmann::ordered_json row = {{"name", tensor.name},
                                    {"shape", nlohmann::json::array()},
                                    {"l2_norm", one.norm},
                                    {"largest", one.largest},
                                    {"not_finite", static_cast<std::int64_t>(one.bad)}};
      for (int d = 0; d < tensor.shape.rank(); ++d) row["shape"].push_back(tensor.shape[d]);
      if (!one.singular.empty()) {
        row["singular_values"] = one.singular;
        row["stable_rank"] = one.stable_rank();
      }
      if (file > 0) row["drift"] = one.drift;
      tensors.push_back(std::move(row));
    }
    files.push_back({{"file", analysis.files[file]},
                     {"step", analysis.steps[file]},
                     {"tensors", std::move(tensors)}});
  }
  return nlohmann::ordered_json{{"files", std::move(files)}}.dump(
             2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace triax
