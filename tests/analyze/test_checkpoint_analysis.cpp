// SPDX-License-Identifier: Apache-2.0
#include "src/analyze/checkpoint_analysis.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "src/analyze/singular_values.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

// A product of matrices whose singular values are known: H diag(values) G, with reflections H and
// G, which are orthogonal.
std::vector<float> matrix_of(const std::vector<double>& values, std::int64_t m, std::int64_t n) {
  const auto reflection = [](std::int64_t size) {
    std::vector<double> v(static_cast<std::size_t>(size));
    double squares = 0.0;
    for (std::int64_t i = 0; i < size; ++i) {
      v[static_cast<std::size_t>(i)] = std::cos(1.0 + 0.7 * static_cast<double>(i));
      squares += v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(i)];
    }
    for (double& x : v) x *= std::sqrt(2.0 / squares);
    return v;
  };
  const std::vector<double> h = reflection(m), g = reflection(n);
  std::vector<float> out(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < values.size(); ++k) {
        const auto at = static_cast<std::int64_t>(k);
        const auto is = [](std::int64_t a, std::int64_t b) { return a == b ? 1.0 : 0.0; };
        sum += (is(i, at) - h[static_cast<std::size_t>(i)] * h[k]) * values[k] *
               (is(j, at) - g[k] * g[static_cast<std::size_t>(j)]);
      }
      out[static_cast<std::size_t>(i * n + j)] = static_cast<float>(sum);
    }
  return out;
}

TEST(SingularValues, OfSmallMatricesAreExact) {
  const std::vector<double> values = {7.0, 3.0, 3.0, 0.5};
  std::vector<float> matrix = matrix_of(values, 6, 4);
  const auto found = leading_singular_values(Tensor(matrix.data(), {6, 4}), 16);
  ASSERT_EQ(found.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], values[i], 1e-5);
}

TEST(SingularValues, OfLargeMatricesAreNear) {
  std::vector<double> values;
  for (int i = 0; i < 120; ++i) values.push_back(50.0 / (1.0 + i));
  std::vector<float> matrix = matrix_of(values, 120, 150);
  const auto found = leading_singular_values(Tensor(matrix.data(), {120, 150}), 4);
  ASSERT_EQ(found.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i] / values[i], 1.0, 1e-3) << i;
}

TEST(SingularValues, OfRankOneAndOfZeros) {
  std::vector<float> ones(40 * 30, 1.0F), zeros(40 * 30, 0.0F);
  const auto one = leading_singular_values(Tensor(ones.data(), {40, 30}), 3);
  EXPECT_NEAR(one[0], std::sqrt(1200.0), 1e-4);
  EXPECT_NEAR(one[1], 0.0, 1e-3);
  EXPECT_EQ(leading_singular_values(Tensor(zeros.data(), {40, 30}), 3),
            (std::vector<double>{0.0, 0.0, 0.0}));
}

class Analysis : public testing::Test {
 protected:
  std::string write(const std::string& name, float w, float b) const {
    const std::string path = directory_.path(name);
    if (world_rank() == 0)
      write_example(path,
                    {{"/model/b", DType::f32, {3}},
                     {"/model/w", DType::f32, {2, 2}},
                     {"/optimizer/exp_avg/b", DType::f32, {3}}},
                    {{b, NAN, b}, {w, 0, 0, 1}, {1, 1, 1}});
    MPI_Barrier(MPI_COMM_WORLD);
    return path;
  }
  SharedDirectory directory_;
  std::string a_ = write("a.h5", 3, 2), b_ = write("b.h5", 7, 2);
};

// Ranks share the tensors, and all have the numbers.
TEST_F(Analysis, HasNormsSingularValuesAndDrift) {
  const CheckpointAnalysis found = analyze_checkpoints({a_, b_}, false, 4, MPI_COMM_WORLD);
  ASSERT_EQ(found.tensors.size(), 2U);
  const TensorAnalysis &b = found.tensors[0].files[0], &w = found.tensors[1].files[1];
  EXPECT_EQ(found.tensors[0].name, "/model/b");
  EXPECT_NEAR(b.norm, std::sqrt(8.0), 1e-12);
  EXPECT_EQ(b.bad, 1.0);
  EXPECT_TRUE(b.singular.empty());
  EXPECT_EQ(b.drift, 0.0);
  ASSERT_EQ(w.singular.size(), 2U);
  EXPECT_NEAR(w.singular[0], 7.0, 1e-5);
  EXPECT_NEAR(w.singular[1], 1.0, 1e-5);
  EXPECT_NEAR(w.drift, 4.0, 1e-12);
  EXPECT_EQ(w.largest, 7.0);
  EXPECT_NEAR(w.stable_rank(), 50.0 / 49.0, 1e-5);
  EXPECT_EQ(w.rank90(), 1);
  EXPECT_EQ(analyze_checkpoints({a_}, true, 0, MPI_COMM_WORLD).tensors.size(), 3U);
  EXPECT_THAT(analysis_text(found), HasSubstr("1 not finite"));
  const auto json = nlohmann::json::parse(analysis_json(found));
  EXPECT_NEAR(json["files"][1]["tensors"][1]["drift"].get<double>(), 4.0, 1e-12);
  EXPECT_FALSE(json["files"][0]["tensors"][0].contains("drift"));
}

TEST_F(Analysis, RefusesAnotherModel) {
  const std::string other = directory_.path("c.h5");
  if (world_rank() == 0) write_example(other, {{"/model/w", DType::f32, {2, 2}}}, {{1, 2, 3, 4}});
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THROW(analyze_checkpoints({a_, other}, false, 0, MPI_COMM_WORLD), UsageError);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace triax::test
