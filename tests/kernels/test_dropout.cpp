#include "kernels/dropout.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/reference/dropout.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

std::vector<float> dropped(std::vector<float>& x, const Dropout& options, std::int64_t first) {
  std::vector<float> y(x.size());
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  test::run(dropout, Tensor(y.data(), shape), Tensor(x.data(), shape), options, first);
  return y;
}

class DropoutTypes : public testing::TestWithParam<DType> {};

TEST_P(DropoutTypes, AgreesWithReference) {
  for (const float probability : {0.1F, 0.5F, 0.9F})
    for (const std::int64_t first : {0, 3, 1001}) {
      test::Array x = test::Array::random(GetParam(), 5003, 1);
      test::Array y(GetParam(), 5003);
      const Dropout options{probability, 77};
      test::run(dropout, y.tensor(), x.tensor(), options, first);
      test::expect_close(y, reference::dropout(x.doubles(), options, first), 1e-6, "y");
    }
}

TEST_P(DropoutTypes, ZeroProbabilityIsTheIdentity) {
  test::Array x = test::Array::random(GetParam(), 3000, 1);
  test::Array y(GetParam(), 3000);
  test::run(dropout, y.tensor(), x.tensor(), {}, 5);
  EXPECT_EQ(y, x);
}

INSTANTIATE_TEST_SUITE_P(Types, DropoutTypes, test::every_type());

TEST(Dropout, DropsTheShareAsked) {
  std::vector<float> x(100000, 1.0F);
  const auto y = dropped(x, {0.2F, 5}, 0);
  const auto zeros = std::count(y.begin(), y.end(), 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros), 20000.0, 5.0 * std::sqrt(100000 * 0.2 * 0.8));
}

TEST(Dropout, PartsHaveTheMaskOfTheWholeAndInPlaceIsTheSame) {
  std::vector<float> x = test::random_values(6000, 1);
  const Dropout options{0.3F, 9};
  const auto whole = dropped(x, options, 10);
  std::vector<float> part(x.begin() + 777, x.end());
  EXPECT_EQ(dropped(part, options, 787), std::vector<float>(whole.begin() + 777, whole.end()));
  const Tensor view(x.data(), {6000});
  test::run(dropout, view, view, options, 10);
  EXPECT_EQ(x, whole);
}

TEST(Dropout, KeysGiveDifferentMasks) {
  std::vector<float> x(1000, 1.0F);
  EXPECT_NE(dropped(x, {0.5F, 1}, 0), dropped(x, {0.5F, 2}, 0));
}

TEST(Dropout, RefusesProbabilitiesOutsideTheRange) {
  std::vector<float> x(4);
  EXPECT_THROW(dropped(x, {1.0F, 0}, 0), Error);
  EXPECT_THROW(dropped(x, {-0.1F, 0}, 0), Error);
}

}  // namespace
}  // namespace triax
