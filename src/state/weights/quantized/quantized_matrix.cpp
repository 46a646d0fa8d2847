// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/quantized_matrix.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t tile_elements = 131072;

// out (columns, rows) = tile (rows, columns), transposed.
void transpose(float* out, const float* tile, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) out[c * rows + r] = tile[r * columns + c];
}

// A matrix or its transpose, read by rows.
class RowReader {
 public:
  RowReader(const QuantizedMatrix& matrix, bool transposed)
      : matrix_(matrix), transposed_(transposed) {}
  std::int64_t columns() const { return transposed_ ? matrix_.outputs() : matrix_.inputs(); }

  // out (rows, columns) = the tile from (row, column) on.
  void read(std::int64_t row, std::int64_t column, float* out, std::int64_t rows,
            std::int64_t columns) {
    if (!transposed_) return matrix_.read_tile(row, column, Tensor(out, {rows, columns}));
    tile_.resize(static_cast<std::size_t>(rows * columns));
    matrix_.read_tile(column, row, Tensor(tile_.data(), {columns, rows}));
    transpose(out, tile_.data(), columns, rows);
  }

 private:
  const QuantizedMatrix& matrix_;
  bool transposed_;
  std::vector<float> tile_;
};

}  // namespace

void read_elements(const QuantizedMatrix& matrix, bool transposed, std::int64_t begin,
                   const Tensor& out) {
  const std::int64_t end = begin + out.elements();
  check(begin >= 0 && end <= matrix.outputs() * matrix.inputs(), "elements [{}, {}) of a matrix",
        begin, end);
  RowReader rows(matrix, transposed);
  const std::int64_t columns = rows.columns();
  float* to = out.as<float>();
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t row = at / columns, column = at % columns;
    const std::int64_t whole = column == 0 ? (end - at) / columns : 0;
    const std::int64_t count = std::min(whole, std::max<std::int64_t>(1, tile_elements / columns));
    const std::int64_t across = count > 0 ? columns : std::min(columns - column, end - at);
    rows.read(row, column, to, std::max<std::int64_t>(1, count), across);
    const std::int64_t done = std::max<std::int64_t>(1, count) * across;
    to += done;
    at += done;
  }
}

}  // namespace triax
