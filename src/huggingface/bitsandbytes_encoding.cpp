// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/bitsandbytes_encoding.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"
#include "kernels/optimizer/quantized/dynamic_map.hpp"
#include "kernels/quant/four_bit.hpp"
#include "kernels/quant/int8.hpp"
#include "kernels/quant/nested_scales.hpp"
#include "src/state/weights/quantized/bitsandbytes.hpp"
#include "src/state/weights/quantized/flat_matrix.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t at_once = std::int64_t{1} << 20;  // elements; whole groups
constexpr std::size_t offset_digits = 24;  // room for nested_offset, known after its file is begun

template <class T>
Tensor view(std::vector<T>& values) {
  return {values.data(), {std::ssize(values)}};
}

std::string torch_name(DType type) {
  return type == DType::bf16 ? "bfloat16" : type == DType::f16 ? "float16" : "float32";
}

class BitsandbytesEncoding : public TensorEncoding {
 public:
  explicit BitsandbytesEncoding(BitsandbytesFormat format)
      : format_(std::move(format)), plain_(format_.type) {}

  std::vector<SafetensorsTensor> stored(const GlobalTensor& tensor) const override {
    if (!format_.maps.contains(tensor.name)) return plain_.stored(tensor);
    return format_.bits == 4 ? stored_in_4(tensor) : stored_in_8(tensor);
  }
  void write(const GlobalTensor& tensor, WeightSource& from, SafetensorsWriter& to) override {
    if (!format_.maps.contains(tensor.name)) return plain_.write(tensor, from, to);
    FlatMatrix matrix(
        tensor.name, tensor.shape, format_.transposed,
        [&](std::int64_t begin, const Tensor& out) { from.read(tensor.name, begin, out); });
    format_.bits == 4 ? write_in_4(matrix, to) : write_in_8(matrix, to);
  }
  std::string config(const std::string& model) const override;

 private:
  const char* type_name() const { return format_.fp4 ? "fp4" : "nf4"; }
  FourBit type() const { return format_.fp4 ? FourBit::fp4 : FourBit::nf4; }
  std::int64_t outputs(const GlobalTensor& tensor) const {
    return tensor.shape[format_.transposed ? 1 : 0];
  }

  std::vector<SafetensorsTensor> stored_in_4(const GlobalTensor& tensor) const;
  std::vector<SafetensorsTensor> stored_in_8(const GlobalTensor& tensor) const;
  void write_in_4(FlatMatrix& matrix, SafetensorsWriter& to) const;
  void write_in_8(FlatMatrix& matrix, SafetensorsWriter& to) const;
  std::string state(std::int64_t outputs, std::int64_t inputs, float offset) const;

  BitsandbytesFormat format_;
  PlainEncoding plain_;
};

// The tensor quant_state: always of the same length.
std::string BitsandbytesEncoding::state(std::int64_t outputs, std::int64_t inputs,
                                        float offset) const {
  std::string text =
      fmt::format(R"({{"quant_type": "{}", "blocksize": {}, "dtype": "{}", "shape": [{}, {}])",
                  type_name(), usual_group, torch_name(format_.type), outputs, inputs);
  if (format_.nested) {
    text += fmt::format(R"(, "nested_blocksize": {}, "nested_dtype": "float32", "nested_offset": )",
                        nested_group);
    std::string number = ordered_json(static_cast<double>(offset)).dump() + "}";
    number.resize(offset_digits + 1, ' ');
    return text + number;
  }
  return text + "}";
}

std::vector<SafetensorsTensor> BitsandbytesEncoding::stored_in_4(const GlobalTensor& tensor) const {
  const std::int64_t elements = tensor.shape.elements();
  const std::int64_t scales = groups_of(elements, usual_group);
  const auto state_bytes =
      std::ssize(state(outputs(tensor), tensor.shape.elements() / outputs(tensor), 0.0F));
  const std::string& name = tensor.name;
  std::vector<SafetensorsTensor> all = {
      {name, DType::u8, {four_bit_bytes(elements), 1}},
      {name + absmax_suffix, format_.nested ? DType::u8 : DType::f32, {scales}},
      {name + quant_map_suffix, DType::f32, {16}},
      {name + quant_state_suffix + type_name(), DType::u8, {state_bytes}}};
  if (!format_.nested) return all;
  all.push_back({name + nested_absmax_suffix, DType::f32, {groups_of(scales, nested_group)}});
  all.push_back({name + nested_map_suffix, DType::f32, {codes}});
  return all;
}

void BitsandbytesEncoding::write_in_4(FlatMatrix& matrix, SafetensorsWriter& to) const {
  const std::int64_t elements = matrix.elements();
  const std::string& name = matrix.name();
  std::vector<float> scales(static_cast<std::size_t>(groups_of(elements, usual_group)));
  std::vector<std::uint8_t> bytes;
  for (std::int64_t begin = 0; begin < elements; begin += at_once) {
    const std::int64_t count = std::min(at_once, elements - begin);
    bytes.resize(static_cast<std::size_t>(four_bit_bytes(count)));
    quantize_4bit(Stream{}, view(bytes),
                  view(scales).slice(0, begin / usual_group, groups_of(count, usual_group)),
                  matrix.piece(begin, count), type(), usual_group);
    to.write(name, begin / 2, view(bytes));
  }
  auto levels = four_bit_table(type()).levels;
  to.write(name + quant_map_suffix, 0, Tensor(levels.data(), {std::ssize(levels)}));
  float offset = 0.0F;
  if (!format_.nested) {
    to.write(name + absmax_suffix, 0, view(scales));
  } else {
    std::vector<std::uint8_t> nested(scales.size());
    std::vector<float> outer(static_cast<std::size_t>(groups_of(std::ssize(scales), nested_group)));
    offset = quantize_scales(Stream{}, view(nested), view(outer), view(scales));
    to.write(name + absmax_suffix, 0, view(nested));
    to.write(name + nested_absmax_suffix, 0, view(outer));
    auto map = dynamic_map(CodeMap::signs).levels;
    to.write(name + nested_map_suffix, 0, Tensor(map.data(), {std::ssize(map)}));
  }
  const std::string text = state(matrix.outputs(), matrix.inputs(), offset);
  std::vector<std::uint8_t> letters(text.begin(), text.end());
  to.write(name + quant_state_suffix + type_name(), 0, view(letters));
}

std::string module_of(const std::string& weight) {
  return weight.substr(0, weight.size() - std::string_view(".weight").size());
}

std::vector<SafetensorsTensor> BitsandbytesEncoding::stored_in_8(const GlobalTensor& tensor) const {
  const std::int64_t rows = outputs(tensor);
  const std::string module = module_of(tensor.name);
  return {{tensor.name, DType::u8, {rows, tensor.shape.elements() / rows}, "I8"},
          {module + row_absmax_suffix, DType::f32, {rows}},
          {module + weight_format_suffix, DType::u8, {}}};
}

void BitsandbytesEncoding::write_in_8(FlatMatrix& matrix, SafetensorsWriter& to) const {
  const std::int64_t rows = matrix.outputs(), columns = matrix.inputs();
  const std::int64_t most = std::max<std::int64_t>(1, at_once / columns);
  std::vector<float> scales(static_cast<std::size_t>(rows));
  std::vector<std::uint8_t> bytes;
  for (std::int64_t row = 0; row < rows; row += most) {
    const std::int64_t count = std::min(most, rows - row);
    bytes.resize(static_cast<std::size_t>(count * columns));
    quantize_int8(Stream{}, view(bytes).reshape({count, columns}),
                  view(scales).slice(0, row, count),
                  matrix.piece(row * columns, count * columns).reshape({count, columns}));
    to.write(matrix.name(), row * columns, view(bytes));
  }
  if (!std::ranges::all_of(scales, [](float scale) { return std::isfinite(scale); }))
    throw Error(fmt::format("{} has a value that int8 cannot scale", matrix.name()),
                "its largest is beyond half precision's 65504", "Choose nf4");
  const std::string module = module_of(matrix.name());
  to.write(module + row_absmax_suffix, 0, view(scales));
  std::uint8_t row_major = 0;
  to.write(module + weight_format_suffix, 0, Tensor(&row_major, Shape{}));
}

std::string BitsandbytesEncoding::config(const std::string& model) const {
  ordered_json config = ordered_json::parse(model);
  const bool four = format_.bits == 4;
  config["quantization_config"] = {{"_load_in_4bit", four},
                                   {"_load_in_8bit", !four},
                                   {"bnb_4bit_compute_dtype", torch_name(format_.type)},
                                   {"bnb_4bit_quant_storage", "uint8"},
                                   {"bnb_4bit_quant_type", four ? type_name() : "fp4"},
                                   {"bnb_4bit_use_double_quant", format_.nested},
                                   {"llm_int8_enable_fp32_cpu_offload", false},
                                   {"llm_int8_has_fp16_weight", false},
                                   {"llm_int8_skip_modules", nullptr},
                                   {"llm_int8_threshold", 6.0},
                                   {"load_in_4bit", four},
                                   {"load_in_8bit", !four},
                                   {"quant_method", "bitsandbytes"}};
  return config.dump(2) + "\n";
}

}  // namespace

std::unique_ptr<TensorEncoding> bitsandbytes_encoding(BitsandbytesFormat format) {
  return std::make_unique<BitsandbytesEncoding>(std::move(format));
}

}  // namespace triax
