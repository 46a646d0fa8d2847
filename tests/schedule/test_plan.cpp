// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::make_shape;

TEST(TextOf, OneInstruction) {
  EXPECT_EQ(text_of(Op{OpKind::Forward, 0, 3, 2}), "F c0 l3 m2");
  EXPECT_EQ(text_of(Op{OpKind::Backward, 1, -1, 2}), "B c1 m2");
  EXPECT_EQ(text_of(Op{OpKind::RecvGradientWait, 1, 0, 2}), "recv grad c1 m2 wait");
  EXPECT_EQ(text_of(Op{.kind = OpKind::ReduceStart, .block = 4}), "reduce b4 start");
  EXPECT_EQ(text_of(Op{.kind = OpKind::Step, .block = 3, .part = 1}), "step b3 p1");
  EXPECT_EQ(text_of(Op{.kind = OpKind::Step, .block = 3, .part = all}), "step b3");
  EXPECT_EQ(text_of(Op{OpKind::GradientNorm}), "norm");
  EXPECT_EQ(text_of(Op{static_cast<OpKind>(op_kind_count)}),
            "unknown instruction " + std::to_string(op_kind_count));
}

TEST(TextOf, KindsDiffer) {
  std::set<std::string> texts;
  for (int k = 0; k < op_kind_count; ++k) texts.insert(text_of(Op{static_cast<OpKind>(k)}));
  EXPECT_EQ(std::ssize(texts), op_kind_count);
}

TEST(TextOf, PlanHasPositionsOfEqualWidth) {
  EXPECT_EQ(text_of(Plan{}), "");
  const std::string text = text_of(Plan(11, Op{OpKind::GradientNorm}));
  EXPECT_TRUE(text.starts_with(" 0  norm\n 1  norm\n")) << text;
  EXPECT_TRUE(text.ends_with("\n10  norm\n")) << text;
}

TEST(FieldsOf, FollowsTheText) {
  for (int k = 0; k < op_kind_count; ++k) {
    const OpFields fields = fields_of(static_cast<OpKind>(k));
    const std::string text = text_of(Op{static_cast<OpKind>(k), 7, 7, 7, 7, 7});
    EXPECT_EQ(fields.chunk, text.find(" c7") != text.npos) << text;
    EXPECT_EQ(fields.layer, text.find(" l7") != text.npos) << text;
    EXPECT_EQ(fields.microbatch, text.find(" m7") != text.npos) << text;
    EXPECT_EQ(fields.block, text.find(" b7") != text.npos) << text;
    EXPECT_EQ(fields.part, text.find(" p7") != text.npos) << text;
  }
  EXPECT_THROW(fields_of(static_cast<OpKind>(op_kind_count)), std::out_of_range);
}

// Groups differ in their fields (the bounds of an exchange have none), and an instruction that only
// waits sends nothing.
TEST(GroupOf, FollowsTheFields) {
  for (int k = 0; k < op_kind_count; ++k) {
    const auto kind = static_cast<OpKind>(k);
    const OpFields fields = fields_of(kind);
    const OpGroup group = group_of(kind);
    const std::string text = text_of(Op{kind});
    EXPECT_EQ(fields.layer, group == OpGroup::compute || group == OpGroup::buffer) << text;
    const bool bound = kind == OpKind::ExchangeBegin || kind == OpKind::ExchangeEnd;
    EXPECT_EQ((fields.chunk && !fields.layer) || bound, group == OpGroup::message) << text;
    EXPECT_EQ(!fields.chunk && !bound, group == OpGroup::block || group == OpGroup::store) << text;
    const bool never = group == OpGroup::store || text.ends_with("wait");
    const bool computes = group == OpGroup::compute && kind != OpKind::WeightGradient;
    const bool always = computes || text.starts_with("send act c0 m0 start");
    EXPECT_FALSE(never && sends(kind)) << text;
    EXPECT_FALSE(always && !sends(kind)) << text;
  }
  EXPECT_EQ(group_of(OpKind::Step), OpGroup::block);
  EXPECT_EQ(group_of(OpKind::FetchStart), OpGroup::store);
  EXPECT_FALSE(sends(OpKind::RecvActivationStart));
}

// Text of check_shape's error.
std::string error_of(const PlanShape& shape) {
  try {
    check_shape(shape);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(CheckShape, TakesWhatFits) {
  EXPECT_EQ(error_of(make_shape({.stages = 3,
                                 .chunks = 2,
                                 .microbatches = 4,
                                 .layers = test::Layers::uneven,
                                 .recompute = test::Marks::some,
                                 .pools = true,
                                 .tied = true})),
            "no error");
  EXPECT_EQ(error_of({.stages = 1, .layers = {{1}}}), "no error");
}

TEST(CheckShape, RefusesWhatDoesNotFit) {
  using testing::HasSubstr;
  const PlanShape good = make_shape({.stages = 3,
                                     .chunks = 2,
                                     .layers = test::Layers::two,
                                     .recompute = test::Marks::all,
                                     .pools = true,
                                     .tied = true});
  const auto error_with = [&](auto&& change) {
    PlanShape shape = good;
    change(shape);
    return error_of(shape);
  };
  EXPECT_THAT(error_with([](PlanShape& s) { s.stages = 0; }), HasSubstr("one stage or more"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.chunks = 0; }),
              HasSubstr("one chunk per stage or more"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.microbatches = 0; }),
              HasSubstr("one micro-batch or more"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.stages = 2; }),
              HasSubstr("layers need one entry per stage"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.chunks = 1; }),
              HasSubstr("layers need one entry per chunk on stage 0"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.layers[2][1] = 0; }),
              HasSubstr("stage 2, chunk 1 has no layer (the model has fewer layers than pipeline "
                        "stages x chunks)"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.recompute.pop_back(); }),
              HasSubstr("recompute needs one entry per stage"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.recompute[1][0].pop_back(); }),
              HasSubstr("recompute needs one entry per layer on stage 1, chunk 0"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.frame_pool[1].pop_back(); }),
              HasSubstr("frame_pool needs one entry per chunk on stage 1"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.frame_pool[1][0][0] = -1; }),
              HasSubstr("counted from 0"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks.pop_back(); }),
              HasSubstr("blocks need one entry per stage"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[1][0].layers.clear(); }),
              HasSubstr("block 0 of stage 1 has no layer"));
  EXPECT_THAT(error_with([](PlanShape& s) {
                s.blocks[1][2].layers = {{1, 2}};
              }),
              HasSubstr("block 2 of stage 1 names a layer that does not exist"));
  EXPECT_THAT(error_with([](PlanShape& s) {
                s.blocks[1][2].layers = {{1, 1}, {0, 0}, {1, 1}};
              }),
              HasSubstr("twice"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[1][2].tied = true; }), HasSubstr("tied"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[0][1].tied = true; }), HasSubstr("tied"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[0][0].tied = false; }), HasSubstr("tied"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[0][1].kept_parts = 1; }),
              HasSubstr("block 1 of stage 0 keeps more parts than it has"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[0][1].parameters = Residence::stored; }),
              HasSubstr("has no shard of its parameters to store"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.state_buffers = 0; }),
              HasSubstr("one buffer for optimizer state or more"));
  EXPECT_THAT(
      error_of({.stages = 1, .layers = {{1}}, .blocks = {{{.layers = {{0, 0}}, .tied = true}}}}),
      HasSubstr("a tied tensor needs two stages or more"));
}

}  // namespace
}  // namespace triax
