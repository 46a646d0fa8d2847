// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/packed_states.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/optimizer/quantized/packed_state.hpp"
#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

const StateKind packed_kind{.name = "m", .type = DType::u8, .packed = CodeMap::signs};
const StateKind plain_kind{.name = "m"};

Piece piece_of(const char* name, std::int64_t first_row, std::int64_t rows, std::int64_t columns,
               int copies = 1) {
  return {.name = name,
          .global = {rows, columns},
          .begin = {0, 0},
          .extent = {rows, columns},
          .at = {first_row, 0},
          .copies = copies};
}
ParameterSpec matrix_of(std::int64_t columns, std::vector<Piece> pieces) {
  std::int64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.extent[0];
  return {.label = "w", .shape = {rows, columns}, .pieces = std::move(pieces)};
}

TEST(PackedStates, LeaveSmallTensorsInFloat32) {
  EXPECT_TRUE(is_packed(matrix_of(64, {piece_of("a", 0, 64, 64)})));
  EXPECT_FALSE(is_packed(matrix_of(65, {piece_of("a", 0, 63, 65)}))) << "4095 elements";
  EXPECT_FALSE(is_packed(matrix_of(64, {piece_of("q", 0, 64, 64), piece_of("k", 64, 32, 64)})));
}

// A cell of two tensors would mix their options, or what tensor ranks share with what they do not.
TEST(PackedStates, LeaveTensorsInFloat32ThatDoNotBeginACell) {
  const auto two = [](std::int64_t columns, int copies) {
    return matrix_of(columns,
                     {piece_of("q", 0, 65, columns), piece_of("k", 65, 65, columns, copies)});
  };
  EXPECT_TRUE(is_packed(two(256, 1)));
  EXPECT_TRUE(is_packed(two(256, 2)));
  EXPECT_FALSE(is_packed(two(80, 1)));
  ParameterSpec side_by_side =
      matrix_of(512, {piece_of("q", 0, 64, 256), piece_of("k", 0, 64, 256)});
  side_by_side.shape = {64, 512};
  side_by_side.pieces[1].at = {0, 256};
  EXPECT_TRUE(is_packed(side_by_side));
  side_by_side.pieces[1].at = {0, 200};
  EXPECT_FALSE(is_packed(side_by_side));
}

// Every rank steps whole cells, and each parameter begins one, whatever the shards.
TEST(PackedStates, NoShardOrSubGroupCutsACell) {
  ASSERT_EQ(state_alignment({packed_kind}), cell_elements);
  ASSERT_EQ(state_alignment({plain_kind}), 16);
  const Stage stage(golden_model("llama-tiny"), {}, 16);
  for (const int size : {1, 3, 4})
    for (int rank = 0; rank < size; ++rank)
      for (const ParameterBlock& block :
           lay_out_blocks(stage, {.size = size,
                                 .rank = rank,
                                 .zero_stage = 1,
                                 .offload = {.optimizer_share = 0.6, .part_elements = 1024},
                                 .alignment = cell_elements})) {
        EXPECT_EQ(block.stepped.begin % cell_elements, 0);
        EXPECT_EQ(block.stepped.end % cell_elements, 0);
        for (const FlatRange& part : block.parts) EXPECT_EQ(part.begin % cell_elements, 0);
        for (const PlacedParameter& param : block.params)
          EXPECT_EQ(param.offset % cell_elements, 0);
      }
}

// All elements of a range have bytes of their own in its tensor.
TEST(PackedStates, OverlapNowhere) {
  const Stage stage(golden_model("llama-tiny"), {}, 16);
  for (const int rank : {0, 1, 2})
    for (const ParameterBlock& block :
         lay_out_blocks(stage, {.size = 3, .rank = rank, .zero_stage = 1, .alignment = 256})) {
      const std::int64_t count = block.stepped.count();
      std::vector<std::uint8_t> bytes(
          static_cast<std::size_t>(state_elements(packed_kind, block, count)));
      EXPECT_EQ(bytes_of({packed_kind, plain_kind}, block, count), std::ssize(bytes) + 4 * count);
      const BlockView view{Tensor(static_cast<void*>(bytes.data()), DType::u8, {std::ssize(bytes)}),
                           block.stepped};
      std::int64_t taken = 0;
      for (int p = 0; p < std::ssize(block.params); ++p) {
        const FlatRange range =
            intersect(block.params[static_cast<std::size_t>(p)].range(), block.stepped);
        if (range.count() == 0) continue;
        const Tensor state = state_at(packed_kind, block, p, view, range);
        const bool packed = is_packed(block.params[static_cast<std::size_t>(p)].spec);
        EXPECT_EQ(state.dtype(), packed ? DType::u8 : DType::f32);
        EXPECT_EQ(state.elements(), packed ? packed_bytes(range.count()) : range.count());
        auto* first = static_cast<std::uint8_t*>(state.data());
        ASSERT_GE(first, bytes.data());
        ASSERT_LE(first + state.bytes(), bytes.data() + bytes.size());
        for (std::int64_t i = 0; i < state.bytes(); ++i) EXPECT_EQ(first[i]++, 0);
        taken += state.bytes();
      }
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 1), taken);
    }
}

TEST(PackedStates, PortionsAreWholeCells) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(packed_bytes(1000)));
  const Tensor state(static_cast<void*>(bytes.data()), DType::u8, {std::ssize(bytes)});
  const Tensor second = state_portion(state, 1000, 512, 488);
  EXPECT_EQ(second.data(), bytes.data() + 2 * cell_bytes);
  EXPECT_EQ(second.elements(), 2 * cell_bytes);
  std::vector<float> values(1000);
  const Tensor plain(values.data(), {1000});
  EXPECT_EQ(state_portion(plain, 1000, 512, 488).data(), values.data() + 512);
}

}  // namespace
}  // namespace triax::test
