// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/orthogonal/orthogonalize.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/optimizer/grad_norm.hpp"
#include "kernels/optimizer/orthogonal/muon.hpp"

namespace triax {
namespace {

struct Work {
  Work(Arena& arena, std::int64_t rows, std::int64_t columns)
      : squares(arena.take("squares", DType::f64, {1})),
        next(arena.take("next matrix", DType::f32, {rows, columns})),
        gram(arena.take("gram matrix", DType::f32, square(rows, columns))),
        polynomial(arena.take("polynomial", DType::f32, square(rows, columns))) {}
  static Shape square(std::int64_t rows, std::int64_t columns) {
    const std::int64_t least = std::min(rows, columns);
    return {least, least};
  }
  Tensor squares, next, gram, polynomial;
};

// polynomial = b g + c g g
void set_polynomial(const Stream& stream, const Work& work, const NewtonSchulz& of) {
  const auto b = static_cast<float>(of.b), c = static_cast<float>(of.c);
  if (c == 0.0F) return scale(stream, work.polynomial, work.gram, b);
  scale(stream, work.polynomial, work.gram, static_cast<float>(of.b / of.c));
  matmul(stream, work.polynomial, work.gram, work.gram, {.accumulate = true});
  scale(stream, work.polynomial, work.polynomial, c);
}

}  // namespace

void orthogonalize(const Stream& stream, const Tensor& matrix, const NewtonSchulz& options,
                   double factor, Arena& scratch) {
  if (matrix.elements() == 0) return;
  const ArenaScope scope(scratch);
  const bool tall = matrix.size(0) > matrix.size(1);
  const Work work(scratch, matrix.size(0), matrix.size(1));
  fill_zero(stream, work.squares);
  add_sum_of_squares(stream, work.squares, matrix.flat());
  divide_by_norm(stream, matrix.flat(), work.squares, options.epsilon);
  Tensor x = matrix, next = work.next;
  for (int step = 0; step < options.steps; ++step) {
    matmul(stream, work.gram, tall ? x.transposed() : x, tall ? x : x.transposed());
    set_polynomial(stream, work, options);
    scale(stream, next, x, static_cast<float>(options.a));
    matmul(stream, next, tall ? x : work.polynomial, tall ? work.polynomial : x,
           {.accumulate = true});
    std::swap(x, next);
  }
  scale(stream, matrix, x, static_cast<float>(factor));
}

std::size_t orthogonalize_bytes(std::int64_t rows, std::int64_t columns) {
  Arena arena;
  const Work work(arena, rows, columns);
  return arena.high_water();
}

}  // namespace triax
