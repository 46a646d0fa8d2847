// SPDX-License-Identifier: Apache-2.0
#include "src/executor/labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace triax::test {
namespace {

using testing::ElementsAre;

TEST(Labels, AreThoseOfTheNextTokenAndCounted) {
  std::vector<std::int32_t> labels(4);
  EXPECT_EQ(shift_labels(std::vector<std::int32_t>{5, 0, -100, 7, -1}, labels), 2);
  EXPECT_THAT(labels, ElementsAre(0, -100, 7, -1));
}

TEST(Labels, OfOneSampleMayAllBeIgnored) {
  std::vector<std::int32_t> labels(2);
  EXPECT_EQ(shift_labels(std::vector<std::int32_t>{5, -100, -100}, labels), 0);
  EXPECT_THAT(labels, ElementsAre(-100, -100));
}

}  // namespace
}  // namespace triax::test
