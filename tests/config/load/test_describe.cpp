#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "src/config/keys/key_table.hpp"
#include "src/config/load/describe.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

class Describe : public testing_support::JobFiles {};

TEST_F(Describe, SaysWhereEveryValueCameFrom) {
  const auto file =
      job(",\n \"run\": {\"steps\": 5}, \"zero_optimization\": {\"contiguous_gradients\": true}");
  const auto rows = json::parse(describe_job(file, {"parallel.tensor=2"}, 4, true).text);
  std::map<std::string, json> by_key;
  for (const auto& row : rows) by_key[row["key"]] = row;
  EXPECT_EQ(by_key["run.steps"]["value"], 5);
  EXPECT_EQ(by_key["run.steps"]["from"], file + ":4");
  EXPECT_EQ(by_key["parallel.tensor"]["from"], "--set");
  EXPECT_EQ(by_key["parallel.data"]["value"], 2);
  EXPECT_EQ(by_key["parallel.data"]["from"], "auto");
  EXPECT_EQ(by_key["parallel.chunks"]["from"], "default");
  EXPECT_EQ(by_key["model.n_layer"]["from"], file + ":2");
  EXPECT_EQ(by_key["zero_optimization.contiguous_gradients"]["treatment"],
            "accepted, without meaning here");
  EXPECT_FALSE(by_key.contains("zero_optimization.reduce_scatter"));
  EXPECT_FALSE(by_key.contains("model.num_hidden_layers"));
  const auto table = describe_job(file, {}, 1, false).text;
  EXPECT_THAT(table, ContainsRegex("run.steps +5 +.*job.json:4\n"));
  EXPECT_THAT(table, ContainsRegex("run.seed +1234 +default\n"));
}

TEST_F(Describe, FailsAsLoadingDoes) {
  EXPECT_THROW(describe_job(job(R"(, "nonsense": 1)"), {}, 1, false), UsageError);
}

TEST_F(Describe, ShowsAJobWhoseFilesAreMissingAndNamesThem) {
  const auto file = job(R"(, "checkpoint": {"resume": "gone.h5"})");
  const auto shown = describe_job(file, {"data.train=gone/*.bin"}, 1, false);
  EXPECT_THAT(shown.text, ContainsRegex(R"(data.train +\["gone/\*.bin"\] +--set)"));
  ASSERT_EQ(shown.missing.size(), 2U);
  EXPECT_THAT(shown.missing[0], HasSubstr("data.train: no file matches gone/*.bin"));
  EXPECT_THAT(shown.missing[1], HasSubstr("checkpoint.resume: no such file: gone.h5"));
  EXPECT_THROW(load_job(file, {"data.train=gone/*.bin"}, 1), UsageError);
  EXPECT_TRUE(describe_job(job(), {}, 1, false).missing.empty());
}

TEST_F(Describe, WhatIsWrongBesideIsAnErrorWithTheMissingFiles) {
  const auto text = error_of(job(R"(, "nonsense": 1)"), 1, {"data.train=gone.txt"});
  EXPECT_THAT(text, HasSubstr("nonsense"));
  EXPECT_THAT(text, HasSubstr("no such file: gone.txt"));
  EXPECT_THROW(describe_job(job(R"(, "nonsense": 1)"), {"data.train=gone.txt"}, 1, false),
               UsageError);
}

TEST_F(Describe, OnlyWhatIsRefusedIsCalledSo) {
  const auto file = job(R"(, "amp": {"enabled": false}, "wandb": {"enabled": true})");
  const auto table = describe_job(file, {}, 1, false).text;
  EXPECT_THAT(table, ContainsRegex("amp.enabled +false +[^ ]*job.json:3\n"));
  EXPECT_THAT(table, ContainsRegex("wandb.enabled +true +[^ ]*job.json:3 .accepted, without"));
  EXPECT_THAT(table, testing::Not(HasSubstr("refused")));
  EXPECT_THAT(describe_job(file, {}, 1, true).text, testing::Not(HasSubstr("refused")));
  EXPECT_THAT(error(R"(, "amp": {"enabled": true})"), HasSubstr("true is refused"));
}

TEST_F(Describe, TheReferenceHasEveryKey) {
  const auto list = json::parse(key_reference(true));
  const auto text = key_reference(false);
  const KeyTable table;
  ASSERT_EQ(list.size(), table.keys().size());
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            table.keys().size() + 1);
  for (const auto& row : list) EXPECT_THAT(text, HasSubstr(row["key"].get<std::string>()));
  EXPECT_THAT(
      text,
      ContainsRegex("parallel.tensor +integer +1 +ranks +1 <= x <= 10000000 +ranks that share"));
  EXPECT_THAT(text, ContainsRegex("scheduler.type.*; \"LRRangeTest\" is not built yet"));
}

}  // namespace
}  // namespace triax
