// Whole plans with one mistake each: verify() must find all of them, and must find none in a change
// of order that does not matter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "src/schedule/passes.hpp"
#include "src/schedule/verify.hpp"
#include "tests/schedule/plan_oracle.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::Layers;
using test::make_shape;
using test::Marks;
using testing::HasSubstr;

struct Subject {
  std::string name;
  PlanShape shape;
  Plans plans;
  PlanUse use = PlanUse::training;

  int instructions() const {
    int count = 0;
    for (const Plan& plan : plans) count += static_cast<int>(plan.size());
    return count;
  }
};

Subject training(const std::string& schedule, int stages, int chunks, int microbatches,
                 ZeroStage zero = ZeroStage::optimizer, bool partition = false) {
  const PlanShape shape = make_shape({.stages = stages,
                                      .chunks = chunks,
                                      .microbatches = microbatches,
                                      .layers = Layers::uneven,
                                      .recompute = Marks::some,
                                      .partition = partition,
                                      .pools = true,
                                      .data_parallel = true,
                                      .zero = zero,
                                      .ahead = 25,
                                      .replicas = zero != ZeroStage::optimizer,
                                      .persistent = true,
                                      .tied = true,
                                      .tensor_sum = true});
  return {schedule + " on " + std::to_string(stages) + ", ZeRO " +
              std::to_string(static_cast<int>(zero)) + (partition ? ", partitioned" : ""),
          shape, training_plans(schedule, shape)};
}

// Plans in which every instruction and every feature occurs.
std::vector<Subject> subjects() {
  const PlanShape evaluated =
      make_shape({.stages = 3, .chunks = 2, .microbatches = 4, .layers = Layers::uneven});
  const PlanShape gathered = make_shape({.stages = 3,
                                         .chunks = 2,
                                         .microbatches = 4,
                                         .layers = Layers::uneven,
                                         .zero = ZeroStage::parameters,
                                         .ahead = 25,
                                         .persistent = true});
  const PlanShape alone =
      make_shape({.stages = 1, .chunks = 3, .microbatches = 2, .layers = Layers::uneven});
  return {training("gpipe", 3, 2, 4),
          training("gpipe", 1, 3, 2),
          training("1f1b", 4, 1, 5),
          training("interleaved", 2, 3, 4),
          training("gpipe", 1, 3, 2, ZeroStage::gradients),
          training("1f1b", 3, 1, 4, ZeroStage::gradients),
          training("gpipe", 1, 3, 2, ZeroStage::parameters),
          training("1f1b", 3, 1, 4, ZeroStage::parameters),
          training("interleaved", 2, 2, 4, ZeroStage::parameters),
          {"evaluation on 3", evaluated, evaluation_plans(evaluated), PlanUse::evaluation},
          {"evaluation on 3, ZeRO 3", gathered, evaluation_plans(gathered), PlanUse::evaluation},
          {"evaluation on 1", alone, evaluation_plans(alone), PlanUse::evaluation},
          training("gpipe", 1, 3, 2, ZeroStage::gradients, true),
          training("1f1b", 3, 1, 4, ZeroStage::optimizer, true),
          training("interleaved", 2, 2, 4, ZeroStage::parameters, true)};
}

// What verify() says, or nothing.
std::optional<std::string> error_of(const Subject& subject, const Plans& plans) {
  try {
    verify(plans, subject.shape, subject.use);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return std::nullopt;
}

// Calls use(plans, stage, position) for each instruction, with a copy of the plans to change.
template <class Use>
void for_each_instruction(const Subject& subject, const Use& use) {
  Plans plans = subject.plans;
  for (int s = 0; s < subject.shape.stages; ++s)
    for (int i = 0; i < std::ssize(subject.plans[s]); ++i) {
      use(plans, s, i);
      plans[s] = subject.plans[s];
    }
}

std::string place(const Subject& subject, int stage, int position) {
  return subject.name + ", stage " + std::to_string(stage) + ", op " + std::to_string(position) +
         " (" + text_of(subject.plans[stage][position]) + ")";
}

TEST(Mutations, SubjectsAreRight) {
  std::vector<int> sizes;
  for (const Subject& subject : subjects()) {
    EXPECT_EQ(error_of(subject, subject.plans), std::nullopt) << subject.name;
    EXPECT_FALSE(test::deadlocks(subject.plans)) << subject.name;
    sizes.push_back(subject.instructions());
  }
  EXPECT_THAT(sizes, testing::ElementsAre(373, 59, 270, 369, 76, 249, 109, 323, 361, 220, 298, 34,
                                          84, 207, 385));
}

TEST(Mutations, EveryDeletionIsFound) {
  for (const Subject& subject : subjects())
    for_each_instruction(subject, [&](Plans& plans, int s, int i) {
      plans[s].erase(plans[s].begin() + i);
      EXPECT_TRUE(error_of(subject, plans)) << place(subject, s, i);
    });
}

// Doubled in place, and again at the end of the plan.
TEST(Mutations, EveryDuplicateIsFound) {
  for (const Subject& subject : subjects())
    for_each_instruction(subject, [&](Plans& plans, int s, int i) {
      const Op op = plans[s][i];
      plans[s].push_back(op);
      EXPECT_TRUE(error_of(subject, plans)) << place(subject, s, i);
      plans[s].pop_back();
      plans[s].insert(plans[s].begin() + i, op);
      EXPECT_TRUE(error_of(subject, plans)) << place(subject, s, i);
    });
}

TEST(Mutations, EveryChangeOfAFieldIsFound) {
  for (const Subject& subject : subjects())
    for_each_instruction(subject, [&](Plans& plans, int s, int i) {
      const Op op = plans[s][i];
      for (const int by : {-1, 1}) {
        const auto kind = static_cast<OpKind>(static_cast<int>(op.kind) + by);
        for (const Op& changed : {Op{op.kind, op.chunk + by, op.layer, op.microbatch, op.block},
                                  Op{op.kind, op.chunk, op.layer + by, op.microbatch, op.block},
                                  Op{op.kind, op.chunk, op.layer, op.microbatch + by, op.block},
                                  Op{op.kind, op.chunk, op.layer, op.microbatch, op.block + by},
                                  Op{kind, op.chunk, op.layer, op.microbatch, op.block}}) {
          plans[s][i] = changed;
          EXPECT_TRUE(error_of(subject, plans))
              << place(subject, s, i) << " as " << text_of(changed);
        }
      }
    });
}

// Neighbours that change places are right exactly where the oracle finds that it does not matter.
TEST(Mutations, SwapsAreFoundExactlyWhereTheyMatter) {
  std::vector<int> harmless;
  for (const Subject& subject : subjects()) {
    harmless.push_back(0);
    for_each_instruction(subject, [&](Plans& plans, int s, int i) {
      if (i + 1 == std::ssize(plans[s])) return;
      std::swap(plans[s][i], plans[s][i + 1]);
      const bool right = test::independent(subject.shape, s, plans[s][i], plans[s][i + 1]) &&
                         test::recomputes_stand_before_backward(plans[s]) &&
                         test::windows_begin_with_their_microbatch(subject.shape, s, plans[s]) &&
                         !test::deadlocks(plans);
      if (right) ++harmless.back();
      const auto error = error_of(subject, plans);
      EXPECT_EQ(!error, right) << place(subject, s, i) << ": " << error.value_or("accepted");
    });
  }
  EXPECT_THAT(harmless, testing::ElementsAre(223, 25, 158, 230, 32, 142, 62, 196, 248, 144, 226, 21,
                                             40, 112, 266));
}

bool is_wait(OpKind kind) {
  return kind == OpKind::SendActivationWait || kind == OpKind::SendGradientWait ||
         kind == OpKind::RecvActivationWait || kind == OpKind::RecvGradientWait;
}

// Each wait for a message, moved up step by step to where it is wrong: a stage may wait only as
// early as the other one, which may itself be waiting, lets it.
TEST(Mutations, WaitsMayComeEarlierUntilTheyMeetTheirStartOrDeadlock) {
  int right = 0;
  int at_start = 0;
  int deadlocks = 0;
  for (const Subject& subject : {training("gpipe", 2, 2, 6), training("1f1b", 4, 1, 5)})
    for_each_instruction(subject, [&](Plans& plans, int s, int i) {
      if (!is_wait(plans[s][i].kind)) return;
      for (int to = i - 1; to >= 0; --to) {
        const bool commute = test::independent(subject.shape, s, plans[s][to], plans[s][to + 1]);
        std::swap(plans[s][to], plans[s][to + 1]);
        if (commute && to > 0 && plans[s][to - 1].kind == OpKind::Recompute) continue;
        const bool circle = commute && test::deadlocks(plans);
        const auto error = error_of(subject, plans);
        EXPECT_EQ(!error, commute && !circle)
            << place(subject, s, i) << " to " << to << ": " << error.value_or("");
        if (circle) {
          EXPECT_THAT(error.value_or(""), HasSubstr("waits for ever"));
        }
        ++(circle ? deadlocks : commute ? right : at_start);
        if (error) return;
      }
    });
  EXPECT_EQ(right, 1252);
  EXPECT_EQ(at_start, 119);
  EXPECT_EQ(deadlocks, 13);
}

// Several instructions that belong together.

Plans without(const Plans& plans, const auto& unwanted) {
  Plans left = plans;
  for (Plan& plan : left) std::erase_if(plan, unwanted);
  return left;
}

TEST(Mutations, FeaturesThatAreMissingAsAWholeAreFound) {
  const Subject subject = training("1f1b", 3, 1, 4);
  const auto error_without = [&](std::initializer_list<OpKind> kinds) {
    const auto unwanted = [&](const Op& op) {
      return std::find(kinds.begin(), kinds.end(), op.kind) != kinds.end();
    };
    return error_of(subject, without(subject.plans, unwanted)).value_or("accepted");
  };
  EXPECT_THAT(error_without({OpKind::TensorSum}),
              HasSubstr("(reduce b2 start): the next for block 2 is tensor sum b2"));
  EXPECT_THAT(error_without({OpKind::ReduceStart, OpKind::ReduceWait}),
              HasSubstr("(tied sum b2): the next for block 2 is reduce b2 start"));
  EXPECT_THAT(error_without({OpKind::TiedSum}),
              HasSubstr("(norm): the next for block 2 is tied sum b2"));
  EXPECT_THAT(error_without({OpKind::GradientNorm}),
              HasSubstr("(step b0): the next for block 0 is norm"));
  EXPECT_THAT(error_without({OpKind::GatherStart, OpKind::GatherWait}),
              HasSubstr("end: gather b0 start is missing"));
  EXPECT_THAT(error_without({OpKind::Step, OpKind::GatherStart, OpKind::GatherWait}),
              HasSubstr("step b0 is missing"));
  EXPECT_THAT(error_without({OpKind::Backward}), HasSubstr("its backward does not follow at once"));
  EXPECT_THAT(error_without({OpKind::SendActivationWait}),
              HasSubstr("end: activations or gradients are left in use"));
  EXPECT_THAT(error_without({OpKind::SendActivationStart, OpKind::SendActivationWait}),
              HasSubstr("waits for ever"));
}

// So does an input that is kept whole.
TEST(Mutations, KeepingAWholeInputIsRight) {
  const Subject subject = training("1f1b", 3, 1, 4, ZeroStage::optimizer, true);
  const Plans kept = without(subject.plans, [](const Op& op) {
    return op.kind == OpKind::PartitionInput || op.kind == OpKind::GatherInput;
  });
  const auto before = verify(subject.plans, subject.shape, PlanUse::training);
  const auto after = verify(kept, subject.shape, PlanUse::training);
  EXPECT_GT(before[1].parts, 0);
  EXPECT_EQ(after[1].parts, 0);
  EXPECT_LT(before[1].boundaries, after[1].boundaries);
}

// A frame that is kept although it could be dropped costs memory, which the peaks tell, and is
// right.
TEST(Mutations, KeepingAFrameIsRight) {
  const Subject subject = training("1f1b", 3, 1, 4);
  const Plans kept = without(subject.plans, [](const Op& op) {
    return op.kind == OpKind::DropFrame || op.kind == OpKind::Recompute;
  });
  const auto before = verify(subject.plans, subject.shape, PlanUse::training);
  const auto after = verify(kept, subject.shape, PlanUse::training);
  EXPECT_LT(before[0].frames, after[0].frames);
}

TEST(Mutations, FeaturesNobodyAskedForAreFound) {
  Subject subject = training("1f1b", 3, 1, 4);
  const auto error_with = [&](auto&& change) {
    Subject other = subject;
    change(other.shape);
    return error_of(other, other.plans).value_or("accepted");
  };
  EXPECT_THAT(error_with([](PlanShape& s) { s.recompute.clear(); }),
              HasSubstr("does not recompute this layer"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.data_parallel = false; }), HasSubstr("(reduce b"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.zero = ZeroStage::none; }),
              HasSubstr("block 0 is finished"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[0][0].tensor_sum = false; }),
              HasSubstr("(tensor sum b0)"));
  EXPECT_THAT(
      error_with([](PlanShape& s) { s.blocks[0][0].tied = s.blocks[2].back().tied = false; }),
      HasSubstr("(tied sum b"));
  subject = training("1f1b", 3, 1, 4, ZeroStage::optimizer, true);
  EXPECT_THAT(error_with([](PlanShape& s) { s.partition_inputs = false; }),
              HasSubstr("does not partition the input of this layer"));
  subject.use = PlanUse::evaluation;
  EXPECT_THAT(error_with([](PlanShape&) {}),
              HasSubstr("a forward-only plan has no such instruction"));
}

}  // namespace
}  // namespace triax
