// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_inspect.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using nlohmann::json;
using testing::HasSubstr;

class CheckpointInspect : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<float> many(3'000'000, 0.5f);  // several pieces
    many.back() = -2;
    write_example(path_,
                  {{"/model/many", DType::f32, {1000, 3000}},
                   {"/model/odd", DType::f32, {4}},
                   {"/optimizer/exp_avg/none", DType::f32, {2}}},
                  {many, {3, NAN, -HUGE_VALF, 4}, {NAN, NAN}});
  }
  TempDirectory dir_;
  std::string path_ = dir_.path("c.h5");
};

TEST_F(CheckpointInspect, JsonHoldsHeaderAndStatistics) {
  const json out = json::parse(inspect_checkpoint(path_, true));
  EXPECT_EQ(out.at("file"), path_);
  EXPECT_EQ(out.at("step"), 50);
  EXPECT_EQ(out.at("tokens"), 51200);
  EXPECT_EQ(out.at("architecture"), "gpt2");
  EXPECT_EQ(out.at("grid").at("tensor"), 1);
  EXPECT_EQ(out.at("parameters"), 3'000'004);
  ASSERT_EQ(out.at("tensors").size(), 3u);
  const json& many = out["tensors"][0];
  EXPECT_EQ(many.at("name"), "/model/many");
  EXPECT_EQ(many.at("dtype"), "f32");
  EXPECT_EQ(many.at("shape"), json::parse("[1000, 3000]"));
  EXPECT_EQ(many.at("min"), -2);
  EXPECT_EQ(many.at("max"), 0.5);
  EXPECT_NEAR(many.at("mean").get<double>(), (0.5 * 2'999'999 - 2) / 3e6, 1e-12);
  EXPECT_NEAR(many.at("l2_norm").get<double>(), std::sqrt(0.25 * 2'999'999 + 4), 1e-9);
  const json& odd = out["tensors"][1];
  EXPECT_EQ(odd.at("mean"), 3.5);
  EXPECT_EQ(odd.at("l2_norm"), 5);
  EXPECT_EQ(odd.at("nan"), 1);
  EXPECT_EQ(odd.at("inf"), 1);
  EXPECT_TRUE(out["tensors"][2].at("mean").is_null());
  EXPECT_EQ(out["tensors"][2].at("nan"), 2);
}

TEST_F(CheckpointInspect, TheTableHasTheSame) {
  const std::string out = inspect_checkpoint(path_, false);
  EXPECT_THAT(out, HasSubstr("step 50, 51200 tokens"));
  EXPECT_THAT(out, HasSubstr("gpt2, 3000004 parameters, 3 tensors"));
  EXPECT_THAT(out, HasSubstr("(1000, 3000)"));
  EXPECT_THAT(out, HasSubstr("/optimizer/exp_avg/none"));
}

TEST(CheckpointInspectErrors, AreTheReaders) {
  const TempDirectory dir;
  EXPECT_THAT(error_of([&] { inspect_checkpoint(dir.path("none.h5"), true); }),
              HasSubstr("none.h5"));
}

}  // namespace
}  // namespace triax
