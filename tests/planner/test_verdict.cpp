// SPDX-License-Identifier: Apache-2.0
#include "src/planner/verdict.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

Evaluation evaluation(double seconds, double bubble = 0.0, double data = 0.0, double store = 0.0) {
  Evaluation one;
  one.price.seconds = seconds;
  one.price.bubble = bubble;
  one.price.data = data;
  one.price.store = store;
  return one;
}

TEST(Verdict, NamesTheLargestDifference) {
  const Evaluation best = evaluation(10.0, 0.05);
  EXPECT_EQ(verdict(evaluation(11.0, 0.20), best),
            "10.0% slower: the pipeline waits 20.0% of the time, not 5.0%");
  EXPECT_EQ(verdict(evaluation(12.0, 0.05, 0.15), best),
            "20.0% slower: it waits for reductions and gathers 15.0% of the time, not 0.0%");
  EXPECT_EQ(verdict(evaluation(20.0, 0.0, 0.0, 0.5), best),
            "100.0% slower: it waits for offloaded state 50.0% of the time, not 0.0%");
}

TEST(Verdict, ExplainsMoreWork) {
  const Evaluation best = evaluation(10.0);
  Evaluation other = evaluation(13.0);
  EXPECT_EQ(verdict(other, best), "30.0% slower: its stages have more work");
  other.candidate.tensor = 2;
  EXPECT_EQ(verdict(other, best), "30.0% slower: its products are smaller");
  other.price.bytes[static_cast<std::size_t>(Axis::tensor)] = 2e9;
  EXPECT_EQ(verdict(other, best),
            "30.0% slower: 2.0 GB of tensor messages per rank instead of 0.0");
  other.candidate.recompute = Recompute::layer;
  EXPECT_EQ(verdict(other, best), "30.0% slower: it computes every block's forward twice");
}

}  // namespace
}  // namespace triax
