// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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
  const auto file = job(R"(, "amp": {"enabled": false}, "comet": {"enabled": true})");
  const auto table = describe_job(file, {}, 1, false).text;
  EXPECT_THAT(table, ContainsRegex("amp.enabled +false +[^ ]*job.json:3\n"));
  EXPECT_THAT(table, ContainsRegex("comet.enabled +true +[^ ]*job.json:3 .accepted, without"));
  EXPECT_THAT(table, testing::Not(HasSubstr("refused")));
  EXPECT_THAT(describe_job(file, {}, 1, true).text, testing::Not(HasSubstr("refused")));
  EXPECT_THAT(error(R"(, "amp": {"enabled": true})"), HasSubstr("true is refused"));
}

TEST_F(Describe, TheReferenceHasEveryKey) {
  const auto list = json::parse(key_reference(ReferenceFormat::json));
  const auto text = key_reference(ReferenceFormat::table);
  const KeyTable table;
  ASSERT_EQ(list.size(), table.keys().size());
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            table.keys().size() + 1);
  for (const auto& row : list) EXPECT_THAT(text, HasSubstr(row["key"].get<std::string>()));
  EXPECT_THAT(
      text,
      ContainsRegex("parallel.tensor +integer +1 +ranks +1 <= x <= 10000000 +ranks that share"));
  EXPECT_THAT(text, ContainsRegex("scheduler.type.*; \"greedy\" is not built yet"));
}

// Cells of a line of a Markdown table; a bar after a backslash is text.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\')
      cell += line[++i];
    else if (line[i] != '|')
      cell += line[i];
    else
      cells.push_back(std::exchange(cell, {}));
  }
  return {cells.begin() + 1, cells.end()};
}

TEST_F(Describe, TheReferenceInMarkdownHasOneTablePerSection) {
  const auto list = json::parse(key_reference(ReferenceFormat::json));
  std::istringstream text(key_reference(ReferenceFormat::markdown));
  std::map<std::string, int> tables;            // headings, by section
  std::map<std::string, std::string> meanings;  // by key
  std::string section;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## ")) ++tables[section = line.substr(3)];
    if (!line.starts_with("| ") || line.starts_with("| key |") || line.starts_with("| --- |"))
      continue;
    const auto cells = cells_of(line);
    ASSERT_EQ(cells.size(), 6U) << line;
    ASSERT_TRUE(cells[0].starts_with(" `") && cells[0].ends_with("` ")) << line;
    const std::string key = cells[0].substr(2, cells[0].size() - 4);
    const auto dot = key.find('.');
    EXPECT_EQ(section, dot == key.npos ? "Top level" : key.substr(0, dot));
    meanings[key] += cells[5];
  }
  for (const auto& [name, count] : tables) EXPECT_EQ(count, 1) << name;
  for (const auto& row : list)
    EXPECT_THAT(meanings[row["key"]], HasSubstr(row["meaning"].get<std::string>()));
}

}  // namespace
}  // namespace triax
