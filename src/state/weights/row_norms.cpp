// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/row_norms.hpp"

#include <algorithm>
#include <vector>

#include "kernels/activation/elementwise.hpp"
#include "kernels/norm/weight_norm.hpp"
#include "kernels/quant/packed_box.hpp"
#include "src/model/families/families.hpp"
#include "src/model/tile_side.hpp"

namespace triax {
namespace {

Tensor matrix(std::vector<float>& memory, std::int64_t rows, std::int64_t columns) {
  memory.resize(static_cast<std::size_t>(rows * columns));
  return {memory.data(), {rows, columns}};
}

}  // namespace

RowNorms::RowNorms(const HuggingfaceWeights& source, const ModelConfig& model, DType type)
    : source_(source),
      kept_(model.kept),
      input_first_(family_of(model).block.order == WeightOrder::input_output),
      type_(type) {
  for (const GlobalTensor& tensor : global_tensors(base_of(model))) {
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    if (tensor.shape.rank() == 2 && model.lora.modules.contains(module))
      shapes_.emplace(module + lora_magnitude_suffix, tensor.shape);
  }
}

void RowNorms::read(const std::string& tensor, std::int64_t begin, const Tensor& out) const {
  const auto found = shapes_.find(tensor);
  check(found != shapes_.end(), "{} has no weight", tensor);
  const std::string suffix = lora_magnitude_suffix;
  const std::string weight = tensor.substr(0, tensor.size() - suffix.size()) + ".weight";
  std::vector<double> sums(static_cast<std::size_t>(out.elements()));
  const Tensor squares(sums.data(), {out.elements()});
  if (kept_)
    add_decoded(weight, found->second, begin, squares);
  else if (input_first_)
    add_columns(weight, found->second, begin, squares);
  else
    add_rows(weight, found->second, begin, squares);
  // Not rounded to the run's type: the master copy is the norm, the stored one is rounded from it.
  norms_of_squares(host_, out.flat(), squares, DType::f32);
}

void RowNorms::take(const std::string& weight, std::int64_t begin, const Tensor& out) const {
  source_.read(weight, begin, out);
  if (type_ == DType::f32) return;
  std::vector<std::byte> memory(static_cast<std::size_t>(out.elements()) * size_of(type_));
  const Tensor rounded(static_cast<void*>(memory.data()), type_, {out.elements()});
  convert(host_, rounded, out);
  convert(host_, out, rounded);
}

void RowNorms::add_rows(const std::string& weight, const Shape& shape, std::int64_t begin,
                        const Tensor& squares) const {
  std::vector<float> memory;
  const std::int64_t outputs = squares.elements(), side = tile_side(shape[1], outputs);
  for (std::int64_t at = 0; at < outputs; at += side) {
    const Tensor tile = matrix(memory, std::min(side, outputs - at), shape[1]);
    take(weight, (begin + at) * shape[1], tile.flat());
    add_row_squares(host_, squares.slice(0, at, tile.size(0)), tile);
  }
}

void RowNorms::add_columns(const std::string& weight, const Shape& shape, std::int64_t begin,
                           const Tensor& squares) const {
  std::vector<float> memory;
  const std::int64_t side = tile_side(shape[1], shape[0]);
  for (std::int64_t at = 0; at < shape[0]; at += side) {
    const Tensor tile = matrix(memory, std::min(side, shape[0] - at), shape[1]);
    take(weight, at * shape[1], tile.flat());
    add_column_squares(host_, squares, tile.slice(1, begin, squares.elements()));
  }
}

void RowNorms::add_decoded(const std::string& weight, const Shape& shape, std::int64_t begin,
                           const Tensor& squares) const {
  const std::int64_t outputs = shape[input_first_ ? 1 : 0], inputs = shape[input_first_ ? 0 : 1];
  const PackedBox box{*quant_format(kept_.format), outputs, inputs, 0, outputs, 0, inputs};
  std::vector<float> bits(static_cast<std::size_t>(box.bytes() / 4 + 1)), unpacked, memory;
  const PackedParts parts{box, Tensor(static_cast<void*>(bits.data()), DType::u8, {box.bytes()})};
  source_.read_box(weight, box, parts);
  Tensor scales = parts.scales;
  if (box.nested()) {
    scales = matrix(unpacked, 1, box.scales()).flat();
    unpack_scales(host_, scales, box, parts);
  }
  const std::int64_t count = squares.elements(), side = tile_side(inputs, count);
  for (std::int64_t at = 0; at < count; at += side) {
    const Tensor tile = matrix(memory, std::min(side, count - at), inputs);
    decode_tile(host_, tile, box, parts, scales, begin + at, 0);
    add_row_squares(host_, squares.slice(0, at, tile.size(0)), tile);
  }
}

}  // namespace triax
