// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_diff.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class CheckpointDiff : public testing::Test {
 protected:
  void SetUp() override {
    write_example(a_,
                  {{"/model/same", DType::f32, {3}},
                   {"/model/w", DType::f32, {2, 2}},
                   {"/model/z", DType::f32, {2}}},
                  {{1, NAN, -HUGE_VALF}, {1, 2, 3, 4}, {1, 2}});
  }
  TempDirectory dir_;
  std::string a_ = dir_.path("a.h5");
  std::string b_ = dir_.path("b.h5");
};

TEST_F(CheckpointDiff, AFileIsEqualToItself) {
  const CheckpointDifference self = diff_checkpoints(a_, a_, false);
  EXPECT_FALSE(self.tensors);
  EXPECT_FALSE(self.attributes);
  EXPECT_EQ(self.text, "3 of 3 tensors in both are equal\n");
  EXPECT_TRUE(json::parse(diff_checkpoints(a_, a_, true).text).at("equal"));
}

TEST_F(CheckpointDiff, TheLargestDifferencesAreNamed) {
  CheckpointHeader header = example_header();
  header.step = 60;
  header.grid = R"({"data":2,"pipeline":1,"tensor":1})";
  write_example(b_,
                {{"/model/same", DType::f32, {3}},
                 {"/model/w", DType::f32, {2, 2}},
                 {"/model/y", DType::f32, {1}},
                 {"/model/z", DType::f32, {1, 2}}},
                {{1, NAN, -HUGE_VALF}, {1.5F, 2, 3, 8}, {0}, {1, 2}}, header);
  const CheckpointDifference difference = diff_checkpoints(a_, b_, true);
  EXPECT_TRUE(difference.tensors);
  EXPECT_TRUE(difference.attributes);
  const json out = json::parse(difference.text);
  EXPECT_FALSE(out.at("equal"));
  ASSERT_EQ(out.at("tensors").size(), 2U);
  EXPECT_EQ(
      out["tensors"][0],
      json::parse(
          R"({"name": "/model/w", "max_absolute": 4.0, "max_relative": 0.5, "elements": 2})"));
  EXPECT_EQ(out["tensors"][1],
            json::parse(R"j({"name": "/model/z", "shape": ["(2)", "(1, 2)"]})j"));
  EXPECT_EQ(out.at("only_in_a"), json::array());
  EXPECT_EQ(out.at("only_in_b"), json::parse(R"(["/model/y"])"));
  EXPECT_EQ(out.at("attributes").at("step"), json::parse("[50, 60]"));
  EXPECT_THAT(diff_checkpoints(a_, b_, false).text,
              AllOf(HasSubstr("/model/w"), HasSubstr("only in B: /model/y"),
                    HasSubstr("attribute step: 50 and 60\n"),
                    HasSubstr("attribute grid.data: 1 and 2\n"), HasSubstr("1 of 3 tensors")));
}

TEST_F(CheckpointDiff, NaNBesideANumberIsAnInfiniteDifference) {
  write_example(b_,
                {{"/model/same", DType::f32, {3}},
                 {"/model/w", DType::f32, {2, 2}},
                 {"/model/z", DType::f32, {2}}},
                {{1, NAN, -HUGE_VALF}, {1, NAN, 3, 4}, {1, 2}});
  const json out = json::parse(diff_checkpoints(a_, b_, true).text);
  ASSERT_EQ(out.at("tensors").size(), 1U);
  EXPECT_EQ(out["tensors"][0].at("max_absolute"), "infinity");
  EXPECT_EQ(out["tensors"][0].at("elements"), 1);
}

TEST_F(CheckpointDiff, ErrorsNameTheFile) {
  EXPECT_THAT(error_of([&] { diff_checkpoints(a_, dir_.path("none.h5"), true); }),
              HasSubstr("none.h5"));
}

}  // namespace
}  // namespace triax
