// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/sgd.hpp"

#include "kernels/reference/sgd.hpp"
#include "tests/kernels/optimizer/stepped_state.hpp"

namespace triax {
namespace {

class Sgd : public testing::TestWithParam<test::TypesAndSize> {
 protected:
  static void expect_agreement(const SgdOptions& options) {
    test::expect_fifty_steps<reference::SgdState>(
        GetParam(), sgd, reference::sgd, options,
        [](SgdOptions& of_step, unsigned step) { of_step.first = step == 0; },
        test::fifty_roundings_near_zero);
  }
};

TEST_P(Sgd, FiftyStepsAgreeWithReference) {
  expect_agreement({.learning_rate = 0.01, .weight_decay = 0.1});
  expect_agreement({.learning_rate = 0.01, .clip_value = 0.125});
}

TEST_P(Sgd, FiftyStepsWithMomentumAgreeWithReference) {
  expect_agreement(
      {.learning_rate = 0.01, .momentum = 0.9, .dampening = 0.25, .weight_decay = 0.1});
  expect_agreement({.learning_rate = 0.01, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1});
}

TEST_P(Sgd, AFactorThatIsNotANumberChangesNothing) {
  test::expect_nothing_changes(GetParam(), sgd, SgdOptions{.momentum = 0.9});
  test::expect_nothing_changes(GetParam(), sgd, SgdOptions{.weight_decay = 0.1});
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Sgd, test::types_and_sizes());

TEST(Sgd, WithoutMomentumNoVelocityIsTouched) {
  std::vector<float> parameter = {1.0F, 2.0F}, gradient = {0.5F, -1.0F};
  float factor = 1.0F;
  test::run(sgd, Tensor(parameter.data(), {2}), Tensor{}, Tensor(gradient.data(), {2}),
            Tensor(&factor, {1}), Tensor{}, SgdOptions{.learning_rate = 0.5});
  EXPECT_EQ(parameter, (std::vector<float>{0.75F, 2.5F}));
}

}  // namespace
}  // namespace triax
