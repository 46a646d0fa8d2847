#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "src/config/key_table.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

class Describe : public testing_support::JobFiles {};

TEST_F(Describe, SaysWhereEveryValueCameFrom) {
  const auto file =
      job(",\n \"run\": {\"steps\": 5}, \"zero_optimization\": {\"overlap_comm\": true}");
  const auto rows = json::parse(describe_job(file, {"parallel.tensor=2"}, 4, true));
  std::map<std::string, json> by_key;
  for (const auto& row : rows) by_key[row["key"]] = row;
  EXPECT_EQ(by_key["run.steps"]["value"], 5);
  EXPECT_EQ(by_key["run.steps"]["from"], file + ":4");
  EXPECT_EQ(by_key["parallel.tensor"]["from"], "--set");
  EXPECT_EQ(by_key["parallel.data"]["value"], 2);
  EXPECT_EQ(by_key["parallel.data"]["from"], "auto");
  EXPECT_EQ(by_key["parallel.chunks"]["from"], "default");
  EXPECT_EQ(by_key["model.n_layer"]["from"], file + ":2");
  EXPECT_EQ(by_key["zero_optimization.overlap_comm"]["treatment"],
            "accepted, without meaning here");
  EXPECT_FALSE(by_key.contains("zero_optimization.reduce_scatter"));
  EXPECT_FALSE(by_key.contains("model.num_hidden_layers"));
  const auto table = describe_job(file, {}, 1, false);
  EXPECT_THAT(table, ContainsRegex("run.steps +5 +.*job.json:4\n"));
  EXPECT_THAT(table, ContainsRegex("run.seed +1234 +default\n"));
}

TEST_F(Describe, FailsAsLoadingDoes) {
  EXPECT_THROW(describe_job(job(R"(, "nonsense": 1)"), {}, 1, false), UsageError);
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
  EXPECT_THAT(text,
              ContainsRegex("zero_optimization.stage.*; 2 is not built yet; 3 is not built yet"));
}

}  // namespace
}  // namespace triax
