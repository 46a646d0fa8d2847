// SPDX-License-Identifier: Apache-2.0
#include "src/model/quantized/quantized_linear.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/matmul/row_matmul.hpp"
#include "kernels/norm/weight_norm.hpp"
#include "kernels/quant/four_bit.hpp"
#include "src/model/layer.hpp"
#include "src/model/packed/packed_rows.hpp"
#include "src/model/tile_side.hpp"

namespace triax {
namespace {

// The box of a piece of a plain weight.
PackedBox box_of(const Piece& piece, WeightOrder order, QuantFormat format) {
  const int out = order == WeightOrder::output_input ? 0 : 1, in = 1 - out;
  return {format,          piece.global[out], piece.global[in], piece.begin[out], piece.extent[out],
          piece.begin[in], piece.extent[in]};
}

std::shared_ptr<const PackedWeight> pack(const ParameterSpec& plain, WeightOrder order,
                                         QuantFormat format) {
  const int out = order == WeightOrder::output_input ? 0 : 1;
  auto made = std::make_shared<PackedWeight>();
  for (const Piece& piece : plain.pieces) {
    if (piece.extent.elements() == 0) continue;
    const PackedPart part{piece.name, box_of(piece, order, format), made->bytes(), piece.at[out],
                          made->nested_scales()};
    if (const std::string problem = problem_of(part.box); !problem.empty())
      throw UsageError(fmt::format("{} cannot be kept in 4 bits on this grid", piece.name), problem,
                       "Choose another parallel.tensor, or keep it in int8");
    made->parts.push_back(part);
  }
  return made;
}

QuantFormat format_of(const KeptBits& kept) {
  const std::optional<QuantFormat> format = quant_format(kept.format);
  check(format.has_value(), "weights kept as {}", kept.format);
  return *format;
}

// Rows of the weight on the tensor rank with the most. A map that is cut by inputs has all rows on
// each.
std::int64_t most_rows(const ParameterSpec& plain, WeightOrder order) {
  const PackedBox first = box_of(plain.pieces.front(), order, QuantFormat::int8);
  return first.whole_rows() ? plain.room() / std::max<std::int64_t>(1, first.inputs)
                            : first.outputs;
}

// Bytes that suffice for the weight on every tensor rank, whose shards may differ: from what is the
// same on all of them.
std::int64_t most_bytes(const ParameterSpec& plain, WeightOrder order, QuantFormat format) {
  const std::int64_t elements = plain.room(), parts = std::ssize(plain.pieces);
  const std::int64_t padding = 4 * parts;
  if (format == QuantFormat::int8) return elements + padding + 4 * most_rows(plain, order);
  const std::int64_t codes = (elements + usual_group * parts) / 2 + padding;
  const std::int64_t groups = elements / usual_group + 2 * parts;
  PackedBox box{.format = format};
  if (!box.nested()) return codes + 4 * groups;
  std::int64_t outer = 0;
  for (const Piece& piece : plain.pieces) {
    box.outputs = piece.global[0];
    box.inputs = piece.global[1];
    outer += box.outer_scales() + 1;
  }
  return codes + groups + padding + 4 * outer;
}

PackedParts parts_of(const Tensor& weight, const PackedPart& part) {
  return {part.box, bytes_of(weight).slice(0, part.begin, part.box.bytes())};
}

}  // namespace

// Memory of a call: a tile in float32 and, in other types, rounded; scales that are nested.
struct QuantizedLinear::Scratch {
  Scratch(Arena& arena, const QuantizedLinear& map, DType type, std::int64_t rows,
          std::int64_t columns)
      : values(arena.take("decoded tile", DType::f32, {rows, columns})) {
    rounded = type == DType::f32 ? values : arena.take("rounded tile", type, {rows, columns});
    if (const std::int64_t nested = map.weight().nested_scales(); nested > 0)
      scales = arena.take("scales", DType::f32, {nested});
  }

  // Decodes the scales that are nested.
  void unpack(const Context& ctx, const PackedWeight& weight, const Tensor& bytes) const {
    for (const PackedPart& part : weight.parts)
      if (part.box.nested()) unpack_scales(ctx.stream, own(part), part.box, parts_of(bytes, part));
  }
  Tensor own(const PackedPart& part) const {
    return scales.slice(0, part.scale, part.box.scales());
  }
  void decode(const Context& ctx, const Tensor& out, const PackedPart& part, const Tensor& bytes,
              std::int64_t row, std::int64_t column) const {
    const PackedParts parts = parts_of(bytes, part);
    decode_tile(ctx.stream, out, part.box, parts, part.box.nested() ? own(part) : parts.scales, row,
                column);
  }

  // The float32 tile, (rows, columns).
  Tensor tile(std::int64_t rows, std::int64_t columns) const {
    return values.flat().slice(0, 0, rows * columns).reshape({rows, columns});
  }
  // The same in the type of the product.
  Tensor round(const Context& ctx, const Tensor& tile) const {
    if (rounded.dtype() == DType::f32) return tile;
    const Tensor out = rounded.flat().slice(0, 0, tile.elements()).reshape(tile.shape());
    convert(ctx.stream, out, tile);
    return out;
  }
  Tensor values, rounded, scales;
};

QuantizedLinear::QuantizedLinear(const Linear& plain, WeightOrder order, const KeptBits& kept)
    : bias_here_(plain.adds_bias()),
      inputs_(plain.inputs()),
      outputs_(plain.outputs()),
      params_(plain.params()) {
  const QuantFormat format = format_of(kept);
  ParameterSpec& weight = params_.front();
  weight.packed = pack(weight, order, format);
  const auto elements = [&](std::int64_t bytes) {
    return (bytes + kept.element_bytes - 1) / kept.element_bytes;
  };
  const std::int64_t most = most_bytes(weight, order, format);
  weight.shape = {elements(weight.packed->bytes())};
  weight.most = elements(most);
}

std::size_t QuantizedLinear::scratch_bytes(const BatchShape& shape) const {
  const auto of = [&](std::int64_t rows, std::int64_t columns) {
    return measure([&](Arena& arena) { Scratch(arena, *this, shape.type, rows, columns); });
  };
  return std::max(of(tile_side(inputs_, outputs_), inputs_),
                  of(outputs_, tile_side(outputs_, inputs_)));
}

void QuantizedLinear::forward(const Context& ctx, const Tensor* weights, const Tensor& x,
                              const Tensor& y, const Tensor& hidden) const {
  const ArenaScope scope(ctx.scratch);
  const std::int64_t side = tile_side(inputs_, outputs_);
  const Scratch scratch(ctx.scratch, *this, ctx.shape.type, side, inputs_);
  scratch.unpack(ctx, weight(), weights[0]);
  const Tensor& sum = hidden.empty() ? y : hidden;
  for (const PackedPart& part : weight().parts) {
    for (std::int64_t row = 0; row < part.box.rows; row += side) {
      const std::int64_t count = std::min(side, part.box.rows - row);
      const Tensor tile = scratch.tile(count, inputs_);
      scratch.decode(ctx, tile, part, weights[0], row, 0);
      const Tensor w = scratch.round(ctx, tile);
      const std::int64_t at = part.output + row;
      const Tensor to = sum.slice(1, at, count);
      const Tensor bias = bias_here_ ? weights[1].slice(0, at, count) : Tensor{};
      if (packed_rows(ctx) != nullptr)
        row_matmul(ctx.stream, to, x, w.transposed(), bias);
      else
        matmul(ctx.stream, to, x, w.transposed(), {.bias = bias});
    }
  }
  if (!hidden.empty()) gelu_forward(ctx.stream, y, hidden);
}

void QuantizedLinear::add_squares(const Context& ctx, const Tensor* weights, const LowRankSum& sum,
                                  const Tensor& squares) const {
  const ArenaScope scope(ctx.scratch);
  const std::int64_t side = tile_side(inputs_, outputs_), end = sum.first + squares.elements();
  const Scratch scratch(ctx.scratch, *this, DType::f32, side, inputs_);
  const Tensor products = ctx.scratch.take("adapter tile", DType::f32, {side, inputs_});
  scratch.unpack(ctx, weight(), weights[0]);
  for (const PackedPart& part : weight().parts) {
    const std::int64_t last = std::min(end, part.output + part.box.rows);
    for (std::int64_t at = std::max(sum.first, part.output); at < last; at += side) {
      const std::int64_t count = std::min(side, last - at);
      const Tensor tile = scratch.tile(count, inputs_);
      scratch.decode(ctx, tile, part, weights[0], at - part.output, 0);
      const Tensor product = products.slice(0, 0, count);
      matmul(ctx.stream, product, sum.b.slice(0, at - sum.first, count), sum.a);
      scale(ctx.stream, product, product, sum.factor);
      accumulate(ctx.stream, tile, product);
      add_row_squares(ctx.stream, squares.slice(0, at - sum.first, count), tile);
    }
  }
}

std::size_t QuantizedLinear::squares_scratch_bytes() const {
  const std::int64_t side = tile_side(inputs_, outputs_);
  return measure([&](Arena& arena) {
    Scratch(arena, *this, DType::f32, side, inputs_);
    arena.take("adapter tile", DType::f32, {side, inputs_});
  });
}

// Tiles hold all outputs, so that each element of dx is one sum, rounded once.
void QuantizedLinear::backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                                     const Tensor& dx, const GeluGradient& gelu) const {
  const ArenaScope scope(ctx.scratch);
  const std::int64_t side = tile_side(outputs_, inputs_);
  const Scratch scratch(ctx.scratch, *this, ctx.shape.type, outputs_, side);
  scratch.unpack(ctx, weight(), weights[0]);
  for (std::int64_t column = 0; column < inputs_; column += side) {
    const std::int64_t count = std::min(side, inputs_ - column);
    const Tensor tile = scratch.tile(outputs_, count);
    for (const PackedPart& part : weight().parts)
      scratch.decode(ctx, tile.slice(0, part.output, part.box.rows), part, weights[0], 0, column);
    matmul(ctx.stream, dx.slice(1, column, count), dy, scratch.round(ctx, tile));
  }
  if (!gelu.input.empty()) gelu_backward(ctx.stream, dx, gelu.output, dx, gelu.input);
}

}  // namespace triax
