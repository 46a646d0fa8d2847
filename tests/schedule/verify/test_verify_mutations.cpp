// SPDX-License-Identifier: Apache-2.0
// Whole plans with one mistake each: verify() must find all of them, and must accept a change of
// order that does not matter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/schedule/plan_oracle.hpp"
#include "tests/schedule/plan_subjects.hpp"

namespace triax {
namespace {

using test::error_of;
using test::exchanging;
using test::for_each_instruction;
using test::place;
using test::Subject;
using test::subjects;
using test::training;
using testing::HasSubstr;

TEST(Mutations, SubjectsAreRight) {
  std::vector<int> sizes;
  for (const Subject& subject : subjects()) {
    EXPECT_EQ(error_of(subject, subject.plans), std::nullopt) << subject.name;
    EXPECT_FALSE(test::deadlocks(subject.plans)) << subject.name;
    sizes.push_back(subject.instructions());
  }
  EXPECT_THAT(sizes, testing::ElementsAre(373, 59, 270, 369, 76, 249, 109, 323, 361, 82, 82, 127,
                                          180, 167, 449, 112, 220, 298, 34, 84, 207, 385, 79, 138,
                                          455, 191, 473, 440, 465, 1032, 276, 277, 40, 208, 249,
                                          272, 176, 124, 233, 127, 477, 295, 149, 184));
}

TEST(Mutations, EveryDeletionIsFound) {
  for (const Subject& subject : subjects())
    for_each_instruction(subject, [&](Plans& plans, int s, int i) {
      plans[s].erase(plans[s].begin() + i);
      EXPECT_TRUE(error_of(subject, plans)) << place(subject, s, i);
    });
}

// Each instruction is doubled in place, and again at the end of the plan.
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
        const auto with = [&](int Op::*field) {
          Op changed = op;
          changed.*field += by;
          return changed;
        };
        Op other_kind = op;
        other_kind.kind = kind;
        for (const Op& changed : {with(&Op::chunk), with(&Op::layer), with(&Op::microbatch),
                                  with(&Op::block), with(&Op::part), other_kind}) {
          plans[s][i] = changed;
          EXPECT_TRUE(error_of(subject, plans))
              << place(subject, s, i) << " as " << text_of(changed);
        }
      }
    });
}

// A swap of neighbours is accepted exactly if the oracle finds that it does not matter.
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
  EXPECT_THAT(harmless, testing::ElementsAre(223, 25, 158, 230, 32, 142, 62, 196, 248, 30, 42, 80,
                                             82, 89, 292, 78, 144, 226, 21, 40, 112, 266, 45, 58,
                                             284, 106, 130, 143, 137, 484, 98, 168, 14, 122, 158,
                                             122, 103, 57, 134, 80, 306, 174, 36, 103));
}

bool is_wait(OpKind kind) {
  return kind == OpKind::SendActivationWait || kind == OpKind::SendGradientWait ||
         kind == OpKind::RecvActivationWait || kind == OpKind::RecvGradientWait;
}

// Each wait for a message moves up step by step until it is wrong: a stage may wait only as early
// as the other one, which may itself be waiting, allows.
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

struct Range {
  std::ptrdiff_t begin, end;
};

// The exchange whose last instruction precedes `end`.
Range exchange_before(const Plan& plan, std::ptrdiff_t end) {
  std::ptrdiff_t begin = end - 1;
  while (plan[begin].kind != OpKind::ExchangeBegin) --begin;
  return {begin, end};
}

bool independent(const PlanShape& shape, int stage, const Plan& plan, Range a, Range b) {
  const auto bound = [](const Op& op) {
    return op.kind == OpKind::ExchangeBegin || op.kind == OpKind::ExchangeEnd;
  };
  for (auto i = a.begin; i < a.end; ++i)
    for (auto k = b.begin; k < b.end; ++k)
      if (!bound(plan[i]) && !bound(plan[k]) && !test::independent(shape, stage, plan[i], plan[k]))
        return false;
  return true;
}

// Each exchange moves down past one instruction, or one exchange, after the other until it is
// wrong: its data are used, its messages meet others, or a stage waits forever.
TEST(Mutations, ExchangesMayComeLaterUntilTheyAreNeededOrDeadlock) {
  int right = 0, used = 0, crossed = 0, deadlocks = 0;
  for (const Subject& subject : {exchanging("gpipe", 2, 2, 6), exchanging("1f1b", 4, 1, 5),
                                 exchanging("interleaved", 3, 2, 6)})
    for_each_instruction(subject, [&](Plans& plans, int s, int i) {
      Plan& plan = plans[s];
      if (plan[i].kind != OpKind::ExchangeEnd) return;
      for (Range moved = exchange_before(plan, i + 1); moved.end < std::ssize(plan);) {
        Range next{moved.end, moved.end + 1};
        if (plan[next.begin].kind == OpKind::ExchangeBegin)
          while (plan[next.end - 1].kind != OpKind::ExchangeEnd) ++next.end;
        const bool commute = independent(subject.shape, s, plan, moved, next);
        std::rotate(plan.begin() + moved.begin, plan.begin() + next.begin, plan.begin() + next.end);
        const bool meet = test::messages_meet(plans), circle = test::deadlocks(plans);
        const auto error = error_of(subject, plans);
        EXPECT_EQ(!error, commute && meet && !circle)
            << place(subject, s, i) << " to " << moved.begin << ": " << error.value_or("");
        ++(!commute ? used : !meet ? crossed : circle ? deadlocks : right);
        if (error) return;
        moved = {moved.begin + next.end - next.begin, next.end};
      }
    });
  EXPECT_EQ(right, 285);
  EXPECT_EQ(used, 157);
  EXPECT_EQ(crossed, 1);
  EXPECT_EQ(deadlocks, 6);
}

}  // namespace
}  // namespace triax
