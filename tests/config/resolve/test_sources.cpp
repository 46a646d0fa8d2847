// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolve/sources.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "src/config/resolve/resolved_paths.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Sources : public testing_support::JobFiles {
 protected:
  void SetUp() override {
    JobFiles::SetUp();
    for (const auto* name : {"c/2.txt", "c/1.txt", "b.txt"}) write(name, "x");
  }
  std::string with(const std::string& train) const { return "data.train=" + train; }
  Config mixed(const std::string& train) const { return config("", 1, {with(train)}); }
  std::string problem(const std::string& train) const { return error("", 1, {with(train)}); }
};

TEST_F(Sources, AreTheirFilesAndWeightsInOrder) {
  const DataConfig data =
      mixed(R"([{"paths": ["c/*.txt"], "weight": 0.7}, {"paths": "b.txt", "weight": 3}])").data;
  EXPECT_THAT(data.train, ElementsAre(path("c/1.txt"), path("c/2.txt"), path("b.txt")));
  EXPECT_EQ(data.sources, (std::vector<DataSource>{{2, {{0.7}}}, {1, {{3.0}}}}));
}

TEST_F(Sources, OfPathsAloneThereAreNone) {
  EXPECT_THAT(mixed(R"(["c/*.txt", "b.txt"])").data.sources, IsEmpty());
  EXPECT_THAT(mixed("b.txt").data.sources, IsEmpty());
}

TEST_F(Sources, MayChangeTheirWeights) {
  const DataConfig data = mixed(R"([
    {"paths": "c/1.txt", "weight": [{"until_step": 10, "weight": 0.7}, {"until_step": 20, "weight": 0},
                                    {"weight": 1e-3}]},
    {"paths": "b.txt", "weight": 1}])")
                              .data;
  EXPECT_EQ(data.sources,
            (std::vector<DataSource>{{1, {{0.7, 10}, {0.0, 20}, {1e-3, 0}}}, {1, {{1.0}}}}));
}

TEST_F(Sources, OfTheResolvedJobAreTheSameAnywhere) {
  const LoadedJob first = load_job(
      job(),
      {with(R"([{"paths": "c/*.txt", "weight": [{"until_step": 5, "weight": 2}, {"weight": 1}]},
                       {"paths": ["b.txt"], "weight": 1}])")},
      1);
  const std::string text = with_absolute_paths(first.resolved);
  EXPECT_EQ(
      nlohmann::json::parse(text)["data"]["train"],
      nlohmann::json::parse(R"([{"paths": [")" + path("c/1.txt") + R"(", ")" + path("c/2.txt") +
                            R"("], "weight": [{"until_step": 5, "weight": 2}, {"weight": 1}]},
                                 {"paths": [")" +
                            path("b.txt") + R"("], "weight": 1}])"));
  const LoadedJob again = load_job(write("again/job.json", text), {}, 1);
  EXPECT_EQ(again.config.data.sources, first.config.data.sources);
  EXPECT_EQ(again.config.data.train, first.config.data.train);
}

TEST_F(Sources, AreRefusedWithThePathOfWhatIsWrong) {
  const auto of = [&](const std::string& source) {
    return problem(R"([{"paths": "b.txt", "weight": 1}, )" + source + "]");
  };
  EXPECT_THAT(of(R"("c/1.txt")"), HasSubstr("data.train: paths and objects are mixed"));
  EXPECT_EQ(of(R"({"paths": "c/1.txt", "weigth": 1})"),
            "--set: data.train[1].weigth: unknown key (nearest: data.train[1].weight)\n"
            "--set: data.train[1].weight: missing. Set it to the source's share of the samples, in "
            "any unit");
  EXPECT_THAT(of(R"({"weight": 1})"), HasSubstr("data.train[1].paths: missing. Name a file"));
  EXPECT_THAT(of(R"({"paths": [], "weight": 1})"), HasSubstr("data.train[1].paths: missing"));
  EXPECT_THAT(of(R"({"paths": 5, "weight": 1})"),
              HasSubstr("data.train[1].paths: expected path or list of paths, got 5"));
  EXPECT_THAT(of(R"({"paths": "", "weight": 1})"), HasSubstr("data.train: an empty path"));
  EXPECT_THAT(of(R"({"paths": "~/x", "weight": 1})"), HasSubstr("~ is not expanded"));
  EXPECT_THAT(of(R"({"paths": "none.txt", "weight": 1})"), HasSubstr("no such file: none.txt"));
  EXPECT_THAT(of(R"({"paths": "c/*.bin", "weight": 1})"), HasSubstr("no file matches c/*.bin"));
}

TEST_F(Sources, HaveWeightsAboveZero) {
  const auto of = [&](const std::string& weight) {
    return problem(R"([{"paths": "b.txt", "weight": )" + weight + "}]");
  };
  EXPECT_EQ(of("0"),
            "--set: data.train[0].weight: 0 is not allowed (allowed: > 0). Leave the source out");
  EXPECT_THAT(of("-0.5"), HasSubstr("data.train[0].weight: -0.5 is not allowed (allowed: > 0)"));
  EXPECT_THAT(of("\"NaN\""), HasSubstr("expected number, got \"NaN\""));
  EXPECT_THAT(of("null"), HasSubstr("data.train[0].weight: missing"));
  EXPECT_THAT(of("[]"), HasSubstr("an empty list"));
  EXPECT_THAT(of(R"([{"until_step": 3, "weight": 0}, {"weight": 0}])"),
              HasSubstr("data.train[0].weight: 0 in every phase"));
  EXPECT_EQ(of(R"([{"until_step": 3, "weight": 1}, {"weight": 0}])"),
            "--set: data.train: no source has a weight above 0 at step 3");
}

TEST_F(Sources, HavePhasesInTheOrderOfSteps) {
  const auto of = [&](const std::string& phases) {
    return problem(R"([{"paths": "b.txt", "weight": [)" + phases + "]}]");
  };
  const std::string first = R"({"until_step": 10, "weight": 1}, )";
  EXPECT_THAT(of(first + R"({"until_step": 10, "weight": 1}, {"weight": 1})"),
              HasSubstr("data.train[0].weight[1].until_step: 10 does not come after 10"));
  EXPECT_THAT(of(first + R"({"weight": 1}, {"weight": 1})"),
              HasSubstr("weight[1].until_step: missing. Set it to the first step"));
  EXPECT_THAT(of(first + R"({"until_step": 20, "weight": 1})"),
              HasSubstr("weight[1].until_step: the last weight holds to the end of the run"));
  EXPECT_THAT(of(R"({"until_step": 0, "weight": 1}, {"weight": 1})"),
              HasSubstr("expected integer >= 1, got 0"));
  EXPECT_THAT(of(R"({"until_step": 1.5, "weight": 1}, {"weight": 1})"),
              HasSubstr("expected integer >= 1, got 1.5"));
  EXPECT_THAT(of(R"({"until_steps": 5, "weight": 1}, {"weight": 1})"),
              AllOf(HasSubstr("nearest: data.train[0].weight[0].until_step)"),
                    HasSubstr("until_step: missing")));
  EXPECT_THAT(of(R"(0.5, {"weight": 1})"),
              HasSubstr("weight[0]: expected {\"until_step\": N, \"weight\": W}, got 0.5"));
  EXPECT_THAT(of(first + R"({"weight": -1})"), HasSubstr("weight[1].weight: -1 is not allowed"));
}

TEST_F(Sources, AreInOneListWithAnyOtherMistake) {
  EXPECT_THAT(
      error(", \"gradient_clipping\": -1", 1, {with(R"([{"paths": "b.txt", "weight": 0}])")}),
      AllOf(HasSubstr("gradient_clipping"), HasSubstr("data.train[0].weight")));
}

}  // namespace
}  // namespace triax
