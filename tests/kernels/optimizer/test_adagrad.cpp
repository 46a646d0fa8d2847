// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adagrad.hpp"

#include "kernels/reference/adagrad.hpp"
#include "tests/kernels/optimizer/stepped_state.hpp"

namespace triax {
namespace {

class Adagrad : public testing::TestWithParam<test::TypesAndSize> {};

TEST_P(Adagrad, FiftyStepsAgreeWithReference) {
  for (const double clip : {std::numeric_limits<double>::infinity(), 0.125})
    test::expect_fifty_steps<reference::AdagradState>(
        GetParam(), adagrad, reference::adagrad,
        AdagradOptions{.weight_decay = 0.1, .clip_value = clip},
        [](AdagradOptions& options, unsigned step) { options.learning_rate = 0.01 / (1 + step); },
        test::fifty_roundings);
}

TEST_P(Adagrad, AFactorThatIsNotANumberChangesNothing) {
  test::expect_nothing_changes(GetParam(), adagrad, AdagradOptions{});
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Adagrad, test::types_and_sizes());

// An element of padding, which is zero and has no gradient, stays zero.
TEST(Adagrad, ZeroStaysZero) {
  test::SteppedState state(DType::f32, 1);
  state.parameter = {0.0F};
  test::Array gradient(DType::f32, 1);
  state.update(adagrad, gradient, 1.0F, AdagradOptions{.weight_decay = 0.1});
  EXPECT_EQ(state.parameter[0], 0.0F);
}

}  // namespace
}  // namespace triax
