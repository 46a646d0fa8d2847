// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/lion.hpp"

#include "kernels/reference/lion.hpp"
#include "tests/kernels/optimizer/stepped_state.hpp"

namespace triax {
namespace {

class Lion : public testing::TestWithParam<test::TypesAndSize> {};

TEST_P(Lion, FiftyStepsAgreeWithReference) {
  for (const double clip : {std::numeric_limits<double>::infinity(), 0.125})
    test::expect_fifty_steps<reference::LionState>(
        GetParam(), lion, reference::lion,
        LionOptions{.learning_rate = 1e-4, .weight_decay = 0.1, .clip_value = clip},
        [](LionOptions& options, unsigned step) { options.beta1 = 0.9 + 0.001 * step; },
        test::fifty_roundings);
}

TEST_P(Lion, AFactorThatIsNotANumberChangesNothing) {
  test::expect_nothing_changes(GetParam(), lion, LionOptions{.weight_decay = 0.1});
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Lion, test::types_and_sizes());

// Each element moves by the learning rate against the sign of its mean gradient, or not at all.
TEST(Lion, MovesByTheSign) {
  test::SteppedState state(DType::f32, 3);
  const std::vector<float> before = state.parameter;
  test::Array gradient(DType::f32, {1e-12F, -70.0F, 0.0F});
  state.update(lion, gradient, 1.0F, LionOptions{.learning_rate = 0.5});
  EXPECT_EQ(state.parameter[0], before[0] - 0.5F);
  EXPECT_EQ(state.parameter[1], before[1] + 0.5F);
  EXPECT_EQ(state.parameter[2], before[2]);
  EXPECT_FLOAT_EQ(state.state[1], -0.7F);
}

}  // namespace
}  // namespace triax
