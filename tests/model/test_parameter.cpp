// SPDX-License-Identifier: Apache-2.0
#include "src/model/parameter.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace triax {
namespace {

// Visits every box of a global tensor of `rows` x `columns` at every offset in a local one (rank 1:
// one row).
template <class Visit>
void for_each_piece(int rank, const Shape& global, const Shape& local, Visit&& visit) {
  const auto size = [&](const Shape& shape, int dim) {
    return rank == 1 ? (dim == 0 ? 1 : shape[0]) : shape[dim];
  };
  const auto shape_of = [&](std::int64_t row, std::int64_t column) {
    return rank == 1 ? Shape{column} : Shape{row, column};
  };
  for (std::int64_t h = 0; h <= std::min(size(global, 0), size(local, 0)); ++h)
    for (std::int64_t w = 0; w <= std::min(size(global, 1), size(local, 1)); ++w)
      for (std::int64_t at_row = 0; at_row + h <= size(local, 0); ++at_row)
        for (std::int64_t at_column = 0; at_column + w <= size(local, 1); ++at_column)
          visit(Piece{"tensor", global, shape_of(size(global, 0) - h, size(global, 1) - w),
                      shape_of(h, w), shape_of(at_row, at_column)});
}

// (local flat index, global flat index) of the piece's elements, one by one in its row-major order.
std::vector<std::pair<std::int64_t, std::int64_t>> elements_of(const Piece& piece,
                                                               const Shape& local) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  const bool vector = local.rank() == 1;
  const std::int64_t height = vector ? 1 : piece.extent[0];
  const std::int64_t width = vector ? piece.extent[0] : piece.extent[1];
  for (std::int64_t r = 0; r < height; ++r)
    for (std::int64_t c = 0; c < width; ++c)
      all.emplace_back(vector ? piece.at[0] + c : (piece.at[0] + r) * local[1] + piece.at[1] + c,
                       vector ? piece.begin[0] + c
                              : (piece.begin[0] + r) * piece.global[1] + piece.begin[1] + c);
  return all;
}

void expect_brute_force(int rank, const Shape& global, const Shape& local) {
  for_each_piece(rank, global, local, [&](const Piece& piece) {
    const auto all = elements_of(piece, local);
    for (std::int64_t begin = 0; begin <= local.elements(); ++begin)
      for (std::int64_t end = begin; end <= local.elements(); ++end) {
        std::vector<std::pair<std::int64_t, std::int64_t>> expected, found;
        for (const auto& element : all)
          if (element.first >= begin && element.first < end) expected.push_back(element);
        const PieceRange range = intersect(piece, local, begin, end);
        ASSERT_EQ(range.end - range.begin, std::ssize(expected));
        std::int64_t runs = 0;
        for_each_run(range, local, [&](std::int64_t at, std::int64_t to, std::int64_t count) {
          ASSERT_GT(count, 0);
          ++runs;
          for (std::int64_t i = 0; i < count; ++i) found.emplace_back(at + i, to + i);
        });
        ASSERT_EQ(found, expected);
        if (!expected.empty()) {
          ASSERT_EQ(all[static_cast<std::size_t>(range.begin)], expected.front());
        }
        const bool whole_rows =
            rank == 1 || (piece.extent[1] == local[1] && piece.extent[1] == global[1]);
        if (whole_rows && !expected.empty()) {
          ASSERT_EQ(runs, 1);
        }
      }
  });
}

TEST(Pieces, OfMatricesAreFoundElementByElement) {
  expect_brute_force(2, {3, 4}, {3, 4});
  expect_brute_force(2, {5, 3}, {4, 3});  // padded rows
  expect_brute_force(2, {3, 5}, {2, 4});
}

TEST(Pieces, OfVectorsAreFoundElementByElement) {
  expect_brute_force(1, {7}, {5});
  expect_brute_force(1, {4}, {6});
}

TEST(TensorShards, CutIntoNeighboursThatDifferByOneAtMost) {
  for (const int size : {1, 2, 3, 4, 7})
    for (const std::int64_t n : {0, 1, 5, 12, 100}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const TensorShard shard{size, rank, false};
        EXPECT_EQ(shard.begin(n), next);
        EXPECT_GE(shard.count(n), n / size);
        EXPECT_LE(shard.count(n), (n + size - 1) / size);
        next += shard.count(n);
      }
      EXPECT_EQ(next, n);
    }
}

TEST(ReplicatedParameter, IsOwnedByTheFirstRank) {
  const ParameterSpec first =
      replicated_parameter("norm", "norm.weight", {8}, {4, 0, true}, true, Initial::one);
  const ParameterSpec other =
      replicated_parameter("norm", "norm.weight", {8}, {4, 3, true}, true, Initial::one);
  EXPECT_TRUE(first.pieces[0].owner);
  EXPECT_FALSE(other.pieces[0].owner);
  EXPECT_EQ(other.pieces[0].copies, 4);
  EXPECT_TRUE(other.pieces[0].partial);
  EXPECT_FALSE(
      replicated_parameter("norm", "norm.weight", {8}, {}, true, Initial::one).pieces[0].partial);
  EXPECT_FALSE(first.decays());
  EXPECT_TRUE(replicated_parameter("positions", "wpe", {8, 2}, {}, true, Initial::normal).decays());
}

}  // namespace
}  // namespace triax
