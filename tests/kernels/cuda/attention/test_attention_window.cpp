// SPDX-License-Identifier: Apache-2.0
// Tests of windows: the loops of the attention kernels, without their arithmetic.
#include "kernels/cuda/attention/attention_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/cuda/attention/attention_shape.hpp"

namespace triax::cuda {
namespace {

using Sees = std::function<bool(int query, int key)>;

// How often each pair of a query and a key is used, by (query, key).
class Pairs {
 public:
  explicit Pairs(int length)
      : length_(length),
        uses_(static_cast<std::size_t>(length) * static_cast<std::size_t>(length)) {}

  // Uses the pairs of two tiles that a kernel does not mask. Rows beyond the length are padding.
  template <class Window>
  void use(const Window& window, RowRange queries, RowRange keys) {
    const bool masked = window.hides_some(queries, keys);
    for (int i = queries.begin; i < std::min(queries.end, length_); ++i)
      for (int j = keys.begin; j < std::min(keys.end, length_); ++j)
        if (!masked || window.sees(i, j)) ++uses_[index(i, j)];
  }

  void expect_those_that(const Sees& sees) const {
    int wrong = 0;
    for (int i = 0; i < length_; ++i)
      for (int j = 0; j < length_; ++j)
        if (uses_[index(i, j)] != (sees(i, j) ? 1 : 0)) ++wrong;
    EXPECT_EQ(wrong, 0);
  }

 private:
  std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(length_) +
           static_cast<std::size_t>(j);
  }
  int length_;
  std::vector<int> uses_;
};

struct Cut {
  int held;
  int held_by_warp;
  int walked;
};
Cut cut_of(const AttentionCut& cut) {
  return {cut.held(), cut.held_by_warp(), cut.walked};
}

// Every warp's rows of the tile from `first` on: visit(rows).
template <class Visit>
void each_warp(const Cut& cut, int first, const Visit& visit) {
  for (int own = first; own < first + cut.held; own += cut.held_by_warp)
    visit(RowRange{own, own + cut.held_by_warp});
}

template <class Window>
void expect_query_tiles(const Cut& cut, const Window& window, const Sees& sees, int length) {
  Pairs pairs(length);
  for (int i0 = 0; i0 < length; i0 += cut.held) {
    const int begin = window.first_tile(i0, cut.walked);
    EXPECT_EQ(begin % cut.walked, 0);
    EXPECT_LE(begin, i0);
    for (int j0 = begin; j0 < std::min(i0 + cut.held, length); j0 += cut.walked) {
      const RowRange keys{j0, j0 + cut.walked};
      EXPECT_TRUE(window.sees_some({i0, i0 + cut.held}, keys)) << "a tile in vain";
      each_warp(cut, i0, [&](const RowRange& own) {
        if (window.sees_some(own, keys)) pairs.use(window, own, keys);
      });
    }
  }
  pairs.expect_those_that(sees);
}

template <class Window>
void expect_key_tiles(const Cut& cut, const Window& window, const Sees& sees, int length) {
  Pairs pairs(length);
  for (int j0 = 0; j0 < length; j0 += cut.held) {
    const int end = window.queries_end({j0, j0 + cut.held}, length);
    EXPECT_GT(end, j0);
    EXPECT_LE(end, length);
    for (int i0 = j0; i0 < end; i0 += cut.walked) {
      const RowRange queries{i0, i0 + cut.walked};
      EXPECT_TRUE(window.sees_some(queries, {j0, j0 + cut.held})) << "a tile in vain";
      each_warp(cut, j0, [&](const RowRange& own) {
        if (window.sees_some(queries, own)) pairs.use(window, queries, own);
      });
    }
  }
  pairs.expect_those_that(sees);
}

// sees: the pairs that the window shows.
template <class Window>
void expect_tiles(const Window& window, const Sees& sees, int length) {
  SCOPED_TRACE(testing::Message() << "window " << window.size << " of " << length);
  for (const int width : {narrow_head, wide_head}) {
    expect_query_tiles(cut_of(forward_cut(width)), window, sees, length);
    expect_query_tiles(cut_of(query_gradient_cut(width)), window, sees, length);
    expect_key_tiles(cut_of(key_gradient_cut(width)), window, sees, length);
  }
  for (const int rows : {1, 8, plain_rows}) {  // square tiles of the plain kernels
    expect_query_tiles({rows, rows, rows}, window, sees, length);
    expect_key_tiles({rows, rows, rows}, window, sees, length);
  }
}

Sees window_of(int size) {
  return [=](int i, int j) { return j <= i && j > i - size; };
}

TEST(AttentionWindow, EachPairIsUsedOnceAndNoTileInVain) {
  for (const int length : {1, 31, 64, 100, 129, 300}) {
    for (const int size : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 299})
      if (size < length) expect_tiles(KeyWindow<true>{size}, window_of(size), length);
    expect_tiles(KeyWindow<true>{length}, window_of(length), length);
    expect_tiles(KeyWindow<false>{length}, window_of(length), length);
  }
}

TEST(AttentionWindow, EachPairOfDocumentsIsUsedOnceAndNoTileInVain) {
  for (const int length : {1, 31, 64, 129, 300})
    for (const int document : {1, 2, 17, 64, 70, 128, 300})
      for (const int size : {1, 16, 65, 300}) {
        std::vector<std::int32_t> positions;
        for (int i = 0; i < length; ++i) positions.push_back(i % document);
        const int window = std::min(size, length);
        const Sees in_window = window_of(window);
        expect_tiles(
            DocumentWindow{window, length, positions.data(), 0},
            [&](int i, int j) { return in_window(i, j) && i / document == j / document; }, length);
      }
}

}  // namespace
}  // namespace triax::cuda
