// SPDX-License-Identifier: Apache-2.0
// Gradients and parameters that are whole only for a while, over data ranks, and the bytes of kept
// state.
#include <algorithm>

#include "src/state/optimizer/optimizer.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

constexpr int in_one = -1;  // not in pieces

using testing::HasSubstr;

// One pool per bucket size, each with `count` buffers for gradients and for gathered parameters.
WholeBuffers whole_buffers(const std::vector<ParameterBlock>& blocks, int count) {
  WholeBuffers whole;
  std::vector<std::int64_t> sizes;
  for (const ParameterBlock& block : blocks) {
    const auto pool = std::find(sizes.begin(), sizes.end(), block.elements);
    whole.pool.push_back(static_cast<int>(pool - sizes.begin()));
    if (pool == sizes.end()) sizes.push_back(block.elements);
  }
  whole.gradients.assign(sizes.size(), count);
  whole.gathered.assign(sizes.size(), count);
  return whole;
}

// The sharding `cut` with all ranks as data ranks.
DataShard over_all_ranks(DataShard cut) {
  cut.size = world_size();
  cut.rank = world_rank();
  return cut;
}

// A store with all ranks as data ranks.
struct Sharded {
  ProcessGrid grid;
  Stage stage;
  ParameterStore store;
  Sharded(const ModelConfig& model, const DataShard& cut, int buffers, DType type = DType::f32)
      : grid(MPI_COMM_WORLD, {world_size(), 1, 1}),
        stage(model, {}, 16),
        store(stage, grid, {.shard = over_all_ranks(cut), .type = type},
              whole_buffers(lay_out_blocks(stage, over_all_ranks(cut)), buffers)) {}
  int blocks() const { return static_cast<int>(store.blocks().size()); }
  const ParameterBlock& block(int index) const {
    return store.blocks()[static_cast<std::size_t>(index)];
  }
};

// Whole numbers whose sums are exact (below 2^24).
float number(std::int64_t element, int salt) {
  return static_cast<float>((element * 7 + salt * 13) % 1001);
}

// Calls visit(view, element) for the elements of a bucket's parameters as its layers see them.
template <class View, class Visit>
void for_each_seen(Sharded& s, int block, int microbatch, View&& view, Visit&& visit) {
  for (const PlacedParameter& param : s.block(block).params)
    for (const ParameterUse& use : param.uses) {
      const Tensor& seen = view(s.store.layer(use.chunk, use.layer, microbatch), use.index);
      ASSERT_EQ(seen.shape(), param.spec.shape);
      auto* data = seen.template as<float>();
      for (std::int64_t i = 0; i < seen.elements(); ++i) visit(data[i], param.offset + i);
    }
}

// True if no layer sees any of the bucket.
template <class View>
bool unseen(Sharded& s, int block, View&& view) {
  for (const PlacedParameter& param : s.block(block).params)
    for (const ParameterUse& use : param.uses)
      if (!view(s.store.layer(use.chunk, use.layer, 0), use.index).empty()) return false;
  return true;
}

const Tensor& gradient_of(const LayerParameters& layer, std::size_t index) {
  return layer.gradients[index].data;
}
const Tensor& weight_of(const LayerParameters& layer, std::size_t index) {
  return layer.weights[index];
}

// Reduces the gradient of one micro-batch: each rank's numbers, summed over the ranks.
void run_window(Sharded& s, int block, int microbatch) {
  s.store.open_gradient(block, microbatch);
  for_each_seen(s, block, microbatch, gradient_of, [&](float& value, std::int64_t element) {
    value = number(element, 10 * microbatch + world_rank());
  });
  s.store.start_reduce(Stream{}, block);
  s.store.wait_reduce(Stream{}, block);
}

float sum_over_ranks(std::int64_t element, int microbatch) {
  float sum = 0.0F;
  for (int rank = 0; rank < world_size(); ++rank) sum += number(element, 10 * microbatch + rank);
  return sum;
}

// Calls visit(value, element) for the elements that a view holds, without padding.
template <class Visit>
void for_each_kept(const Sharded& s, int block, const BlockView& kept, Visit&& visit) {
  for (const PlacedParameter& param : s.block(block).params) {
    const FlatRange here = intersect(param.range(), kept.range);
    for (std::int64_t i = here.begin; i < here.end; ++i)
      visit(kept.data.as<float>()[i - kept.range.begin], i);
  }
}

class Windows : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (world_size() == 1) GTEST_SKIP() << "one rank has whole gradients all the time";
  }
};

TEST(Gradients, OfOneRankAreWholeAllTheTime) {
  if (world_size() > 1) GTEST_SKIP() << "several ranks cut them";
  for (const int zero : {2, 3}) {
    Sharded s(golden_model("gpt2-tiny"), {.zero_stage = zero}, 0);
    for (int b = 0; b < s.blocks(); ++b) EXPECT_FALSE(unseen(s, b, gradient_of)) << zero;
    EXPECT_EQ(s.store.bytes().whole_gradients, 0);
  }
}

TEST_P(Windows, AddUpToTheGradientOfTheStep) {
  Sharded s(golden_model("gpt2-tiny"), {.zero_stage = GetParam()}, 1);
  for (int step = 0; step < 2; ++step) {  // the second step starts anew
    for (int b = 0; b < s.blocks(); ++b) {
      EXPECT_TRUE(unseen(s, b, gradient_of));
      run_window(s, b, 2 * step);
      EXPECT_TRUE(unseen(s, b, gradient_of)) << "after the reduction";
      run_window(s, b, 2 * step + 1);
      EXPECT_EQ(s.store.gradients(b).range, s.block(b).own);
      for_each_kept(s, b, s.store.gradients(b), [&](float value, std::int64_t element) {
        ASSERT_EQ(value, sum_over_ranks(element, 2 * step) + sum_over_ranks(element, 2 * step + 1));
      });
    }
    s.store.end_gradients();
  }
}

TEST_P(Windows, OnlyTheFirstMicrobatchOverwrites) {
  Sharded s(golden_model("llama-tiny"), {.zero_stage = GetParam()}, 1);
  const ParameterUse use = s.block(1).params.front().uses.front();
  s.store.open_gradient(1, 3);
  EXPECT_FALSE(s.store.layer(use.chunk, use.layer, 3).gradients[use.index].accumulate);
  EXPECT_TRUE(s.store.layer(use.chunk, use.layer, 4).gradients[use.index].accumulate);
}

TEST_P(Windows, MoreThanThePlanPromisedIsAnInternalError) {
  Sharded s(golden_model("llama-tiny"), {.zero_stage = GetParam()}, 1);
  ASSERT_EQ(s.block(1).elements, s.block(2).elements);
  s.store.open_gradient(1, 0);
  EXPECT_THAT(error_of([&] { s.store.open_gradient(2, 0); }), HasSubstr("whole gradients"));
}

TEST_P(Windows, AClosedOneCannotBeReduced) {
  Sharded s(golden_model("llama-tiny"), {.zero_stage = GetParam()}, 1);
  EXPECT_THAT(error_of([&] { s.store.start_reduce(Stream{}, 0); }), HasSubstr("is not whole"));
}

INSTANTIATE_TEST_SUITE_P(Stages, Windows, testing::Values(2, 3));

TEST(Gathers, MakeParametersWholeUntilTheirRelease) {
  Sharded s(golden_model("gpt2-tiny"), {.zero_stage = 3}, 1);
  for (int b = 0; b < s.blocks(); ++b) {
    for_each_kept(s, b, s.store.weights(b),
                  [&](float& value, std::int64_t element) { value = number(element, b); });
    EXPECT_EQ(s.store.weights(b).range, s.block(b).own);
  }
  for (int b = 0; b < s.blocks(); ++b) {
    EXPECT_TRUE(unseen(s, b, weight_of));
    s.store.start_gather(Stream{}, b, in_one);
    s.store.progress();
    s.store.wait_gather(Stream{}, b, in_one);
    for_each_seen(s, b, 0, weight_of, [&](float& value, std::int64_t element) {
      ASSERT_EQ(value, number(element, b));
    });
    s.store.release(b);
    EXPECT_TRUE(unseen(s, b, weight_of)) << "after the release";
  }
}

TEST(Gathers, MoreThanThePlanPromisedIsAnInternalError) {
  Sharded s(golden_model("llama-tiny"), {.zero_stage = 3}, 1);
  ASSERT_EQ(s.block(1).elements, s.block(2).elements);
  s.store.start_gather(Stream{}, 1, in_one);
  s.store.wait_gather(Stream{}, 1, in_one);
  EXPECT_THAT(error_of([&] { s.store.start_gather(Stream{}, 2, in_one); }),
              HasSubstr("gathered parameters"));
}

// Small tensors stay whole in a bucket of their own; layers see them all the time.
TEST(Gathers, SmallParametersAreThereAlways) {
  Sharded s(golden_model("llama-tiny"), {.zero_stage = 3, .persistence_threshold = 64}, 1);
  int small = 0;
  for (int b = 0; b < s.blocks(); ++b) {
    if (s.block(b).sharded()) continue;
    ++small;
    for (const PlacedParameter& param : s.block(b).params)
      EXPECT_LE(param.spec.shape.elements(), 64);
    EXPECT_FALSE(unseen(s, b, weight_of));
    EXPECT_EQ(s.store.weights(b).range.count(), s.block(b).elements);
    EXPECT_EQ(s.store.gradients(b).range, s.block(b).own);
  }
  EXPECT_EQ(small, 1);
}

// Bytes of state per parameter, by what each ZeRO level divides by N (Rajbhandari et al. 2020): 16
// without ZeRO, 18 for 16-bit parameters with float32 gradients.
TEST(StateBytes, AreThoseOfTheModel) {
  ModelConfig model = divisible_model("gpt2", true);  // large enough to make padding negligible
  model.hidden = 192;
  model.head_size = 16;
  model.intermediate = 768;
  model.vocabulary = 1024;
  double parameters = 0.0;
  for (const GlobalTensor& tensor : global_tensors(model))
    parameters += static_cast<double>(tensor.shape.elements());
  ProcessGrid grid(MPI_COMM_WORLD, {world_size(), 1, 1});
  const Stage stage(model, {}, 16);
  for (const auto& [type, gradient_type] :
       {std::pair{DType::f32, DType::f32}, {DType::bf16, DType::bf16}, {DType::f16, DType::f32}})
    for (const int zero : {0, 1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} with gradients in {}, ZeRO {}", name_of(type),
                               name_of(gradient_type), zero));
      const DataShard shard = over_all_ranks({.zero_stage = zero});
      ParameterStore store(stage, grid,
                           {.shard = shard, .type = type, .gradient_type = gradient_type},
                           whole_buffers(lay_out_blocks(stage, shard), 0));
      const Optimizer optimizer(store, {}, 1.0);
      const auto bytes = store.bytes();
      const auto expect_share = [&](std::int64_t found, double bytes_each, int from_stage) {
        const double n = zero >= from_stage ? world_size() : 1;
        EXPECT_NEAR(static_cast<double>(found), bytes_each * parameters / n,
                    0.01 * bytes_each * parameters / n);
      };
      expect_share(bytes.parameters, static_cast<double>(size_of(type)), 3);
      expect_share(bytes.gradients, static_cast<double>(size_of(gradient_type)), 2);
      expect_share(optimizer.allocated().moments, 8.0, 1);
      expect_share(optimizer.allocated().master, type == DType::f32 ? 0.0 : 4.0, 1);
      const bool wide_gradients = type != DType::f32 && gradient_type == DType::f32;
      if (zero == 3)
        expect_share(bytes.parameters + bytes.gradients + optimizer.allocated().moments +
                         optimizer.allocated().master,
                     wide_gradients ? 18.0 : 16.0, 3);
      EXPECT_EQ(bytes.whole_gradients + bytes.gathered, 0);
    }
}

TEST(StateBytes, BuffersForWholeBlocksAreCounted) {
  Sharded s(golden_model("llama-tiny"), {.zero_stage = 3}, 2, DType::bf16);
  std::int64_t gathered = 0, gradients = 0;  // of one bucket of each size, as in a pool
  std::vector<std::int64_t> sizes;
  for (const ParameterBlock& block : s.store.blocks())
    if (std::find(sizes.begin(), sizes.end(), block.elements) == sizes.end()) {
      sizes.push_back(block.elements);
      gathered += (block.elements * 2 + 255) / 256 * 256;
      gradients += (block.elements * 4 + 255) / 256 * 256;
    }
  EXPECT_EQ(s.store.bytes().gathered, 2 * gathered);
  EXPECT_EQ(s.store.bytes().whole_gradients, 2 * gradients);
}

}  // namespace
}  // namespace triax::test
