// SPDX-License-Identifier: Apache-2.0
#include "src/model/parameter.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "kernels/random/element_numbers.hpp"
#include "kernels/random/random.hpp"
#include "src/config/config.hpp"

namespace triax {
namespace {

// A box as a matrix; a vector counts as one row.
struct Rows {
  std::int64_t rows, columns;
};

Rows rows_of(const Shape& shape) {
  check(shape.rank() == 1 || shape.rank() == 2, "a piece of rank {}", shape.rank());
  return shape.rank() == 1 ? Rows{1, shape[0]} : Rows{shape[0], shape[1]};
}

std::int64_t row_offset(const Shape& position) {
  return position.rank() == 1 ? 0 : position[0];
}
std::int64_t column_offset(const Shape& position) {
  return position[position.rank() - 1];
}

// Whether the tensor is of a module that is trained whole beside adapters.
bool is_saved_whole(const LoraConfig& lora, const std::string& tensor) {
  return lora.saved.contains(tensor.substr(0, tensor.rfind('.')));
}

// Elements of the piece before the local flat index `flat`.
std::int64_t elements_before(const Piece& piece, const Shape& local, std::int64_t flat) {
  const Rows box = rows_of(piece.extent);
  const std::int64_t width = rows_of(local).columns;
  if (box.rows == 0 || box.columns == 0) return 0;
  const std::int64_t row = flat / width - row_offset(piece.at);
  if (row < 0) return 0;
  if (row >= box.rows) return box.rows * box.columns;
  const std::int64_t column =
      std::clamp<std::int64_t>(flat % width - column_offset(piece.at), 0, box.columns);
  return row * box.columns + column;
}

}  // namespace

PieceRange intersect(const Piece& piece, const Shape& local, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return {&piece, 0, 0};
  return {&piece, elements_before(piece, local, begin), elements_before(piece, local, end)};
}

void for_each_run(const PieceRange& range, const Shape& local,
                  const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  const Piece& piece = *range.piece;
  const Rows box = rows_of(piece.extent);
  const std::int64_t local_width = rows_of(local).columns;
  const std::int64_t global_width = rows_of(piece.global).columns;
  const bool whole_rows = box.columns == local_width && box.columns == global_width;
  for (std::int64_t at = range.begin; at < range.end;) {
    const std::int64_t row = at / box.columns;
    const std::int64_t column = at % box.columns;
    const std::int64_t count =
        whole_rows ? range.end - at : std::min(range.end - at, box.columns - column);
    visit((row_offset(piece.at) + row) * local_width + column_offset(piece.at) + column,
          (row_offset(piece.begin) + row) * global_width + column_offset(piece.begin) + column,
          count);
    at += count;
  }
}

ElementNumbers element_numbers(const ParameterSpec& spec, std::uint64_t seed) {
  ElementNumbers numbers;
  numbers.columns = rows_of(spec.shape).columns;
  for (const Piece& piece : spec.pieces) {
    const Rows box = rows_of(piece.extent);
    if (box.rows * box.columns == 0) continue;
    check(numbers.count < ElementNumbers::most_boxes, "{} has more than {} pieces", spec.label,
          ElementNumbers::most_boxes);
    const std::int64_t width = rows_of(piece.global).columns;
    numbers.boxes[static_cast<std::size_t>(numbers.count++)] = {
        row_offset(piece.at),
        box.rows,
        column_offset(piece.at),
        box.columns,
        row_offset(piece.begin) * width + column_offset(piece.begin),
        width,
        mix_key(seed, piece.name)};
  }
  return numbers;
}

bool stands_for(const std::string& pattern, const std::string& name) {
  const auto matches = [&](const std::string& text) {
    return ::fnmatch(text.c_str(), name.c_str(), 0) == 0;
  };
  return matches(pattern) || matches(pattern + ".*");
}

std::string key_of(const Trainability& model) {
  const std::string key = model.freeze.empty() ? "train_only" : "freeze";
  return model.origin.empty() ? key : model.origin + ": " + key;
}

bool is_trained(const Trainability& model, const std::string& name) {
  const auto stands = [&](const std::string& pattern) { return stands_for(pattern, name); };
  if (!model.train_only.empty()) return std::ranges::any_of(model.train_only, stands);
  return std::ranges::none_of(model.freeze, stands);
}

void mark_trained(std::vector<ParameterSpec>& params, const ModelConfig& of) {
  if (!of.lora.saved.empty())
    for (ParameterSpec& spec : params)
      spec.adapter |= !spec.pieces.empty() && is_saved_whole(of.lora, spec.pieces.front().name);
  const Trainability& model = of.trainability;
  if (model.freeze.empty() && model.train_only.empty()) return;
  for (ParameterSpec& spec : params) {
    const auto trained = [&](const Piece& piece) { return is_trained(model, piece.name); };
    const auto other = std::ranges::find_if_not(spec.pieces, trained);
    spec.trained = other == spec.pieces.end();
    if (spec.trained) continue;
    const auto one = std::ranges::find_if(spec.pieces, trained);
    if (one != spec.pieces.end())
      throw UsageError(
          fmt::format("{}: {} is frozen and {} is not", key_of(model), other->name, one->name),
          fmt::format("they are one tensor in memory, {}, which is frozen or trained as a whole",
                      spec.label),
          "Name both in freeze or train_only, or none");
  }
}

ParameterSpec replicated_parameter(const std::string& label, const std::string& name,
                                   const Shape& shape, const TensorShard& shard,
                                   bool partial_gradient, Initial initial, float deviation) {
  Shape origin = shape;
  for (int d = 0; d < origin.rank(); ++d) origin[d] = 0;
  Piece piece{name,   shape,      origin,          shape,
              origin, shard.size, shard.rank == 0, partial_gradient && shard.size > 1};
  return {label, shape, {piece}, initial, deviation, false};
}

}  // namespace triax
