// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/packed_words.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/quant/bit_fields.hpp"
#include "kernels/quant/four_bit.hpp"
#include "kernels/quant/grouped.hpp"
#include "src/state/weights/quantized/tensor_bytes.hpp"

namespace triax {
namespace {

using Words = std::vector<std::int32_t>;
using Floats = std::vector<float>;

Tensor matrix_of(Words& values, std::int64_t rows) {
  return {values.data(), {rows, rows == 0 ? 0 : std::ssize(values) / rows}};
}
Tensor matrix_of(Floats& values, std::int64_t rows) {
  return {values.data(), {rows, rows == 0 ? 0 : std::ssize(values) / rows}};
}

// Names of a module's tensors.
struct Names {
  explicit Names(const std::string& module)
      : weight(module + ".weight"),
        words(module + ".qweight"),
        zeros(module + ".qzeros"),
        scales(module + ".scales"),
        groups(module + ".g_idx") {}
  std::string weight, words, zeros, scales, groups;
};

// Common part of GPTQ and AWQ: scales and zero points per group of inputs, and tiles in their
// order, (inputs, outputs).
class GroupedMatrix : public QuantizedMatrix {
 public:
  std::int64_t outputs() const override { return outputs_; }
  std::int64_t inputs() const override { return std::ssize(group_of_); }
  DType type() const override { return DType::f32; }

  void read_tile(std::int64_t output, std::int64_t input, const Tensor& out) const override {
    const std::int64_t rows = out.size(1), columns = out.size(0);  // of the tile
    Floats tile(static_cast<std::size_t>(rows * columns));
    const Tensor values(tile.data(), {rows, columns});
    read_fields(input, output, values);
    const auto [low, high] =
        std::minmax_element(group_of_.begin() + input, group_of_.begin() + input + rows);
    const std::int32_t first = *low;
    const std::int64_t groups = *high - first + 1;
    Floats zeros(static_cast<std::size_t>(groups * columns)), scales(zeros.size());
    read_zeros(first, output, matrix_of(zeros, groups));
    for (std::int64_t g = 0; g < groups; ++g)
      reader_.read(names_.scales, (first + g) * outputs_ + output,
                   Tensor(scales.data() + g * columns, {columns}));
    Words here(group_of_.begin() + input, group_of_.begin() + input + rows);
    for (std::int32_t& group : here) group -= first;
    scale_groups(Stream{}, values, matrix_of(zeros, groups), matrix_of(scales, groups),
                 Tensor(here.data(), {rows}));
    float* to = out.as<float>();
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < rows; ++r)
        to[c * rows + r] = tile[static_cast<std::size_t>(r * columns + c)];
  }

  void read_box(const PackedBox& box, const PackedParts&) const override {
    refuse_format(names_.weight, name_of(box.format), "words of GPTQ or AWQ");
  }

 protected:
  GroupedMatrix(const SafetensorsReader& reader, Names names)
      : reader_(reader), names_(std::move(names)) {}

  // values (I, O) = the fields of inputs and outputs from these on.
  virtual void read_fields(std::int64_t input, std::int64_t output, const Tensor& values) const = 0;
  // zeros (G, O) = the zero points of groups and outputs from these on.
  virtual void read_zeros(std::int64_t group, std::int64_t output, const Tensor& zeros) const = 0;

  // Sets the shape and consecutive groups; checks the scales.
  void set_shape(const Quantization& quantization, std::int64_t inputs, std::int64_t outputs) {
    outputs_ = outputs;
    const std::int64_t group = quantization.group == -1 ? inputs : quantization.group;
    groups_ = groups_of(inputs, group);
    group_of_.resize(static_cast<std::size_t>(inputs));
    for (std::int64_t i = 0; i < inputs; ++i)
      group_of_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i / group);
    if (!reader_.contains(names_.scales))
      refuse_quantized(names_.weight, names_.scales + " is missing", "");
    const std::string type = reader_.stored(names_.scales).type;
    if (type != "F16" && type != "BF16" && type != "F32")
      refuse_quantized(names_.weight, fmt::format("{} has type {}", names_.scales, type),
                       "scales are F16, BF16 or F32");
    require_stored(reader_, names_.weight, names_.scales, type, {groups_, outputs_});
  }
  // `count` columns of rows [first, first + rows) of a matrix of words.
  Words words_of(const std::string& name, std::int64_t width, std::int64_t first, std::int64_t rows,
                 std::int64_t column, std::int64_t count) const {
    Words words(static_cast<std::size_t>(rows * count));
    for (std::int64_t r = 0; r < rows; ++r)
      reader_.read_bytes(name, ((first + r) * width + column) * 4, words.data() + r * count,
                         count * 4);
    return words;
  }

  const SafetensorsReader& reader_;
  Names names_;
  std::int64_t outputs_ = 0, groups_ = 0;
  Words group_of_;  // of each input
};

class GptqMatrix : public GroupedMatrix {
 public:
  GptqMatrix(const SafetensorsReader& reader, const std::string& module,
             const Quantization& quantization, std::set<std::string>& parts)
      : GroupedMatrix(reader, Names(module)),
        bits_(quantization.bits),
        added_(quantization.zero_less_one ? 1 : 0) {
    const SafetensorsStored words =
        require_stored(reader, names_.weight, names_.words, "I32", {-1, -1});
    const bool has_groups = reader.contains(names_.groups);
    const std::int64_t inputs =
        has_groups ? require_stored(reader, names_.weight, names_.groups, "I32", {-1}).shape[0]
                   : words.shape[0] * 32 / bits_;
    if (words.shape[0] != field_words(inputs, bits_))
      refuse_quantized(
          names_.weight,
          fmt::format("{} has {} rows, which makes {} bits for {} inputs", names_.words,
                      words.shape[0], words.shape[0] * 32 / inputs, inputs),
          fmt::format("{} says {} bits", quantization.source, bits_));
    set_shape(quantization, inputs, words.shape[1]);
    zero_words_ = field_words(outputs_, bits_);
    require_stored(reader, names_.weight, names_.zeros, "I32", {groups_, zero_words_});
    parts.insert({names_.words, names_.zeros, names_.scales});
    if (has_groups) {
      parts.insert(names_.groups);
      read_groups(quantization);
    } else if (quantization.reordered) {
      refuse_quantized(names_.weight, names_.groups + " is missing",
                       fmt::format("{} says desc_act", quantization.source));
    }
    if (quantization.symmetric) check_zeros(quantization);
  }

 protected:
  void read_fields(std::int64_t input, std::int64_t output, const Tensor& values) const override {
    constexpr std::int64_t period = 32;  // inputs after which every width begins a word
    const std::int64_t before = input % period, rows = values.size(0), columns = values.size(1);
    const std::int64_t first = (input - before) * bits_ / 32;
    const std::int64_t count = field_words(before + rows, bits_);
    Words words = words_of(names_.words, outputs_, first, count, output, columns);
    if (before == 0) return unpack_fields_down(Stream{}, values, matrix_of(words, count), bits_);
    Floats more(static_cast<std::size_t>((before + rows) * columns));
    unpack_fields_down(Stream{}, matrix_of(more, before + rows), matrix_of(words, count), bits_);
    std::copy(more.begin() + before * columns, more.end(), values.as<float>());
  }
  void read_zeros(std::int64_t group, std::int64_t output, const Tensor& zeros) const override {
    Words words = words_of(names_.zeros, zero_words_, group, zeros.size(0), 0, zero_words_);
    unpack_fields_across(Stream{}, zeros, matrix_of(words, zeros.size(0)), bits_, output,
                         FieldOrder::natural, added_);
  }

 private:
  void read_groups(const Quantization& quantization) {
    const Words stored = read_range<std::int32_t>(reader_, names_.groups, 0, inputs());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (stored[i] < 0 || stored[i] >= groups_)
        refuse_quantized(names_.weight,
                         fmt::format("{} puts input {} into group {}", names_.groups, i, stored[i]),
                         fmt::format("there are {} groups", groups_));
      if (!quantization.reordered && stored[i] != group_of_[i])
        refuse_quantized(names_.weight,
                         fmt::format("{} puts input {} into group {}", names_.groups, i, stored[i]),
                         fmt::format("{} says no desc_act, so it is in group {}",
                                     quantization.source, group_of_[i]));
    }
    group_of_ = stored;
  }
  // All zero points of a symmetric matrix are the middle: other numbers mean that the files have
  // the other version's zero points, which would shift every weight.
  void check_zeros(const Quantization& quantization) const {
    const float middle = static_cast<float>(1 << (bits_ - 1));
    Floats zeros(static_cast<std::size_t>(outputs_));
    for (std::int64_t g = 0; g < groups_; ++g) {
      read_zeros(g, 0, matrix_of(zeros, 1));
      const auto odd = std::ranges::find_if(zeros, [&](float zero) { return zero != middle; });
      if (odd == zeros.end()) continue;
      refuse_quantized(
          names_.weight,
          fmt::format("the zero point of group {}, output {} is {}", g, odd - zeros.begin(), *odd),
          fmt::format("{} says sym and checkpoint_format {}, which makes it {}: the files may have "
                      "the zero points of the other version",
                      quantization.source, added_ != 0 ? "gptq" : "gptq_v2", middle));
    }
  }

  int bits_;
  int added_;  // to the stored zero points
  std::int64_t zero_words_ = 0;
};

class AwqMatrix : public GroupedMatrix {
 public:
  AwqMatrix(const SafetensorsReader& reader, const std::string& module,
            const Quantization& quantization, std::set<std::string>& parts)
      : GroupedMatrix(reader, Names(module)) {
    const SafetensorsStored words =
        require_stored(reader, names_.weight, names_.words, "I32", {-1, -1});
    words_ = words.shape[1];
    if (reader.contains(names_.groups))
      refuse_quantized(
          names_.weight, names_.groups + " is there",
          fmt::format("{} says AWQ, which has no such tensor: GPTQ has", quantization.source));
    set_shape(quantization, words.shape[0], words_ * 8);
    require_stored(reader, names_.weight, names_.zeros, "I32", {groups_, words_});
    parts.insert({names_.words, names_.zeros, names_.scales});
  }

 protected:
  void read_fields(std::int64_t input, std::int64_t output, const Tensor& values) const override {
    read_across(names_.words, input, output, values);
  }
  void read_zeros(std::int64_t group, std::int64_t output, const Tensor& zeros) const override {
    read_across(names_.zeros, group, output, zeros);
  }

 private:
  void read_across(const std::string& name, std::int64_t row, std::int64_t output,
                   const Tensor& values) const {
    const std::int64_t first = output / 8;
    const std::int64_t count = (output + values.size(1) + 7) / 8 - first;
    Words words = words_of(name, words_, row, values.size(0), first, count);
    unpack_fields_across(Stream{}, values, matrix_of(words, values.size(0)), 4, output - first * 8,
                         FieldOrder::awq, 0);
  }

  std::int64_t words_ = 0;  // per row
};

template <class Matrix>
QuantizedTensors find(const SafetensorsReader& reader, const Quantization& quantization) {
  constexpr std::string_view end = ".qweight";
  QuantizedTensors found;
  for (const std::string& name : reader.names()) {
    if (!name.ends_with(end)) continue;
    const std::string module = name.substr(0, name.size() - end.size());
    found.matrices.emplace(module + ".weight",
                           std::make_unique<Matrix>(reader, module, quantization, found.parts));
  }
  return found;
}

}  // namespace

QuantizedTensors find_gptq(const SafetensorsReader& reader, const Quantization& quantization) {
  return find<GptqMatrix>(reader, quantization);
}

QuantizedTensors find_awq(const SafetensorsReader& reader, const Quantization& quantization) {
  return find<AwqMatrix>(reader, quantization);
}

}  // namespace triax
