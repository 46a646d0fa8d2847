// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/bitsandbytes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "kernels/base/check.hpp"
#include "kernels/optimizer/quantized/dynamic_map.hpp"
#include "kernels/quant/four_bit.hpp"
#include "kernels/quant/int8.hpp"
#include "kernels/quant/nested_scales.hpp"
#include "src/state/weights/quantized/tensor_bytes.hpp"

namespace triax {
namespace {

using nlohmann::json;

template <class T>
Tensor view(std::vector<T>& values) {
  return {values.data(), {std::ssize(values)}};
}

// Content of the tensor quant_state.
struct QuantState {
  FourBit type = FourBit::nf4;
  std::int64_t group = 0, outputs = 0, inputs = 0;
  DType dtype = DType::f32;
  bool nested = false;
  float offset = 0.0F;
};

DType dtype_named(const std::string& matrix, const std::string& name) {
  if (name == "bfloat16") return DType::bf16;
  if (name == "float16") return DType::f16;
  if (name == "float32") return DType::f32;
  refuse_quantized(matrix, fmt::format("its quant_state has dtype {}", name),
                   "types are bfloat16, float16 and float32");
}

QuantState parse_state(const std::string& matrix, const std::string& type, const json& state) {
  QuantState made;
  made.type = type == "nf4" ? FourBit::nf4 : FourBit::fp4;
  if (state.at("quant_type") != type)
    refuse_quantized(matrix,
                     fmt::format("its quant_state has quant_type {}", state["quant_type"].dump()),
                     fmt::format("the tensor's name says {}", type));
  made.group = state.at("blocksize").get<std::int64_t>();
  const auto group = static_cast<std::uint64_t>(made.group);
  if (made.group < 32 || made.group > most_group || (group & (group - 1)) != 0)
    refuse_quantized(matrix, fmt::format("its quant_state has blocksize {}", made.group),
                     "it is a power of 2 from 32 to 4096");
  made.dtype = dtype_named(matrix, state.at("dtype").get<std::string>());
  const auto shape = state.at("shape").get<std::vector<std::int64_t>>();
  if (shape.size() != 2 || shape[0] <= 0 || shape[1] <= 0)
    refuse_quantized(matrix, fmt::format("its quant_state has shape {}", shape_text(shape)),
                     "it must be a matrix");
  made.outputs = shape[0];
  made.inputs = shape[1];
  made.nested = state.contains("nested_blocksize");
  if (!made.nested) return made;
  if (state["nested_blocksize"] != nested_group || state.value("nested_dtype", "") != "float32")
    refuse_quantized(matrix, "its absmax is nested in another way than blocks of 256 in float32",
                     state.dump());
  made.offset = state.at("nested_offset").get<float>();
  if (!std::isfinite(made.offset))
    refuse_quantized(matrix, "its nested_offset is not finite", state.dump());
  return made;
}

QuantState read_state(const SafetensorsReader& reader, const std::string& matrix,
                      const std::string& type) {
  const std::string name = matrix + quant_state_suffix + type;
  const std::int64_t bytes = require_stored(reader, matrix, name, "U8", {-1}).bytes;
  const std::vector<char> text = read_range<char>(reader, name, 0, bytes);
  const json state = json::parse(text.begin(), text.end(), nullptr, false);
  try {
    return parse_state(matrix, type, state);
  } catch (const json::exception& error) {
    refuse_quantized(matrix, fmt::format("{} cannot be read", name), error.what());
  }
}

// Error unless the table that the files have is the type's own.
void check_map(const SafetensorsReader& reader, const std::string& matrix, const std::string& name,
               std::span<const float> levels) {
  require_stored(reader, matrix, name, "F32", {std::ssize(levels)});
  const std::vector<float> stored = read_range<float>(reader, name, 0, std::ssize(levels));
  for (std::size_t code = 0; code < stored.size(); ++code)
    if (!(std::abs(stored[code] - levels[code]) <= 1e-6F))
      refuse_quantized(
          matrix, fmt::format("{} is not the table of its type", name),
          fmt::format("code {} is {} there, and must be {}", code, stored[code], levels[code]));
}

class FourBitMatrix : public QuantizedMatrix {
 public:
  FourBitMatrix(const SafetensorsReader& reader, std::string name, const std::string& type,
                std::set<std::string>& parts)
      : reader_(reader), name_(std::move(name)), state_(read_state(reader, name_, type)) {
    const std::int64_t elements = state_.outputs * state_.inputs;
    if (const std::int64_t bytes = reader.stored(name_).bytes; bytes != four_bit_bytes(elements))
      refuse_quantized(
          name_, fmt::format("it has {} bytes", bytes),
          fmt::format("{} elements of 4 bits have {}", elements, four_bit_bytes(elements)));
    const std::int64_t scales = groups_of(elements, state_.group);
    require_stored(reader, name_, absmax(), state_.nested ? "U8" : "F32", {scales});
    check_map(reader, name_, name_ + quant_map_suffix, four_bit_table(state_.type).levels);
    parts.insert({name_, absmax(), name_ + quant_map_suffix, name_ + quant_state_suffix + type});
    if (!state_.nested) return;
    require_stored(reader, name_, outer(), "F32", {groups_of(scales, nested_group)});
    check_map(reader, name_, name_ + nested_map_suffix, dynamic_map(CodeMap::signs).levels);
    parts.insert({outer(), name_ + nested_map_suffix});
  }

  std::int64_t outputs() const override { return state_.outputs; }
  std::int64_t inputs() const override { return state_.inputs; }
  DType type() const override { return state_.dtype; }

  void read_tile(std::int64_t output, std::int64_t input, const Tensor& out) const override {
    if (out.size(1) == inputs()) return read(output * inputs(), out.flat());
    for (std::int64_t r = 0; r < out.size(0); ++r)
      read((output + r) * inputs() + input, out.slice(0, r, 1).flat());
  }

  void read_box(const PackedBox& box, const PackedParts& parts) const override {
    check_format(box);
    for (const PackedSegment& segment : segments_of(box)) {
      reader_.read_bytes(name_, segment.begin / 2, parts.codes.as<std::uint8_t>() + segment.at / 2,
                         four_bit_bytes(segment.end - segment.begin));
      const std::int64_t width = state_.nested ? 1 : sizeof(float);
      const Tensor& scales = state_.nested ? parts.scale_codes : parts.scales;
      reader_.read_bytes(
          absmax(), segment.begin / usual_group * width,
          static_cast<std::uint8_t*>(scales.data()) + segment.at / usual_group * width,
          groups_of(segment.end - segment.begin, usual_group) * width);
    }
    if (!state_.nested) return;
    reader_.read_bytes(outer(), 0, parts.outer.data(), parts.outer.bytes());
    *parts.offset = state_.offset;
  }

 private:
  void check_format(const PackedBox& box) const {
    const std::string has = fmt::format("{}{}", state_.type == FourBit::nf4 ? "nf4" : "fp4",
                                        state_.nested ? "-double" : "");
    if (has != name_of(box.format)) refuse_format(name_, name_of(box.format), has);
    if (state_.group != usual_group)
      refuse_format(name_, name_of(box.format),
                    fmt::format("blocks of {} (64 can be kept)", state_.group));
  }
  std::string absmax() const { return name_ + absmax_suffix; }
  std::string outer() const { return name_ + nested_absmax_suffix; }

  // Scales of groups [begin, end).
  std::vector<float> scales(std::int64_t begin, std::int64_t end) const {
    if (!state_.nested) return read_range<float>(reader_, absmax(), begin, end - begin);
    auto codes = read_range<std::uint8_t>(reader_, absmax(), begin, end - begin);
    const std::int64_t first = begin / nested_group;
    auto outer_scales =
        read_range<float>(reader_, outer(), first, groups_of(end, nested_group) - first);
    std::vector<float> made(codes.size());
    dequantize_scales(Stream{}, view(made), view(codes), view(outer_scales),
                      begin - first * nested_group, state_.offset);
    return made;
  }

  // Elements [begin, begin + n) of the flat matrix.
  void read(std::int64_t begin, const Tensor& out) const {
    const std::int64_t end = begin + out.elements();
    const std::int64_t first = begin / state_.group * state_.group;
    auto codes = read_range<std::uint8_t>(reader_, name_, first / 2, four_bit_bytes(end - first));
    std::vector<float> scale = scales(first / state_.group, groups_of(end, state_.group));
    dequantize_4bit(Stream{}, out, view(codes), view(scale), begin - first, state_.type,
                    state_.group);
    round(out);
  }

  // Rounds to the type that bitsandbytes decodes to.
  void round(const Tensor& values) const {
    float* x = values.as<float>();
    const std::int64_t n = values.elements();
    if (state_.dtype == DType::bf16)
      for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(Bf16(x[i]));
    if (state_.dtype == DType::f16)
      for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(F16(x[i]));
  }

  const SafetensorsReader& reader_;
  std::string name_;
  QuantState state_;
};

class EightBitMatrix : public QuantizedMatrix {
 public:
  EightBitMatrix(const SafetensorsReader& reader, const std::string& module,
                 std::set<std::string>& parts)
      : reader_(reader), name_(module + ".weight"), scales_(module + row_absmax_suffix) {
    const SafetensorsStored weight = require_stored(reader, name_, name_, "I8", {-1, -1});
    outputs_ = weight.shape[0];
    inputs_ = weight.shape[1];
    require_stored(reader, name_, scales_, "F32", {outputs_});
    parts.insert({name_, scales_});
    const std::string format = module + weight_format_suffix;
    if (!reader.contains(format)) return;
    parts.insert(format);
    if (const SafetensorsStored stored = reader.stored(format);
        stored.bytes != 1 || read_range<std::uint8_t>(reader, format, 0, 1)[0] != 0)
      refuse_quantized(name_, fmt::format("{} is not 0", format),
                       "rows in another order than row-major are not decoded");
  }

  std::int64_t outputs() const override { return outputs_; }
  std::int64_t inputs() const override { return inputs_; }
  DType type() const override { return DType::f32; }

  void read_tile(std::int64_t output, std::int64_t input, const Tensor& out) const override {
    const std::int64_t rows = out.size(0), columns = out.size(1);
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(rows * columns));
    const bool whole = columns == inputs_;
    for (std::int64_t r = 0; r < (whole ? 1 : rows); ++r)
      reader_.read_bytes(name_, (output + r) * inputs_ + input, codes.data() + r * columns,
                         whole ? rows * columns : columns);
    auto scales = read_range<float>(reader_, scales_, output, rows);
    dequantize_int8(Stream{}, out, Tensor(codes.data(), {rows, columns}), view(scales));
  }

  void read_box(const PackedBox& box, const PackedParts& parts) const override {
    if (box.format != QuantFormat::int8) refuse_format(name_, name_of(box.format), "int8");
    const std::int64_t rows = box.whole_rows() ? 1 : box.rows;
    const std::int64_t bytes = box.rows * box.columns / std::max<std::int64_t>(1, rows);
    for (std::int64_t r = 0; r < rows; ++r)
      reader_.read_bytes(name_, (box.first_output + r) * inputs_ + box.first_input,
                         parts.codes.as<std::uint8_t>() + r * bytes, bytes);
    reader_.read_bytes(scales_, box.first_output * 4, parts.scales.data(), parts.scales.bytes());
  }

 private:
  const SafetensorsReader& reader_;
  std::string name_, scales_;
  std::int64_t outputs_ = 0, inputs_ = 0;
};

std::string without(const std::string& name, const std::string& end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string();
}

[[noreturn]] void refuse_bits(const Quantization& quantization, const std::string& name, int bits) {
  refuse_quantized(
      name, fmt::format("it has {} bits", bits),
      fmt::format("{} says {}{}", quantization.source, quantization.bits,
                  quantization.four_bit.empty() ? "" : " of " + quantization.four_bit));
}

// Error where a weight is of the type of codes and nothing says what they mean.
void require_scales(const SafetensorsReader& reader, const std::set<std::string>& parts) {
  for (const std::string& name : reader.names()) {
    if (!name.ends_with(".weight") || parts.contains(name)) continue;
    const std::string type = reader.stored(name).type;
    if (type == "U8")
      refuse_quantized(name, "its quant_state is missing", "it cannot be decoded without it");
    if (type == "I8")
      refuse_quantized(name, "its SCB is missing", "it cannot be decoded without it");
  }
}

}  // namespace

QuantizedTensors find_bitsandbytes(const SafetensorsReader& reader,
                                   const Quantization& quantization) {
  QuantizedTensors found;
  for (const std::string& name : reader.names()) {
    for (const std::string type : {"nf4", "fp4"}) {
      const std::string matrix = without(name, quant_state_suffix + type);
      if (matrix.empty()) continue;
      if (quantization.four_bit != type)
        refuse_quantized(matrix, fmt::format("it has 4 bits of type {}", type),
                         fmt::format("{} says {} bits{}", quantization.source, quantization.bits,
                                     quantization.bits == 4 ? " of " + quantization.four_bit : ""));
      found.matrices.emplace(matrix,
                             std::make_unique<FourBitMatrix>(reader, matrix, type, found.parts));
    }
    const std::string module = without(name, row_absmax_suffix);
    if (module.empty()) continue;
    if (quantization.bits != 8) refuse_bits(quantization, module + ".weight", 8);
    found.matrices.emplace(module + ".weight",
                           std::make_unique<EightBitMatrix>(reader, module, found.parts));
  }
  require_scales(reader, found.parts);
  return found;
}

}  // namespace triax
