// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_list.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

TEST(CheckpointList, HasEachFileWithItsState) {
  const TempDirectory dir;
  const std::vector<CheckpointTensor> tensors = {{"/model/a", DType::f32, {3}}};
  for (const int step : {50, 60, 70})
    write_example(checkpoint_path(dir.path(), step), tensors, {{1, 2, 3}});
  EXPECT_EQ(set_aside_later(dir.path(), 60).size(), 1U);
  std::filesystem::resize_file(checkpoint_path(dir.path(), 60), 700);
  dir.file("step-000080.h5.tmp", "begun");
  dir.file("notes.txt", "not listed");
  const json out = json::parse(list_directory(dir.path(), true).text);
  ASSERT_EQ(out.at("checkpoints").size(), 4U);
  const json& whole = out["checkpoints"][0];
  EXPECT_EQ(whole.at("state"), "opens");
  EXPECT_EQ(whole.at("step"), 50);
  EXPECT_EQ(whole.at("tokens"), 51200);
  EXPECT_EQ(whole.at("bytes"), std::filesystem::file_size(checkpoint_path(dir.path(), 50)));
  EXPECT_EQ(whole.at("dtype"), "f32");
  EXPECT_EQ(whole.at("grid").at("data"), 1);
  EXPECT_EQ(out["checkpoints"][1].at("state"), "damaged");
  EXPECT_THAT(out["checkpoints"][1].at("problem"), HasSubstr("truncated"));
  EXPECT_EQ(out["checkpoints"][2].at("state"), "superseded");
  EXPECT_EQ(out["checkpoints"][2].at("step"), 70);
  EXPECT_EQ(out["checkpoints"][3].at("state"), "unfinished");
  EXPECT_THAT(list_directory(dir.path(), false).text,
              AllOf(ContainsRegex("50 +51200 .* 1x1x1 +f32 +opens +step-000050.h5"),
                    ContainsRegex("unfinished +step-000080.h5.tmp")));
}

TEST(CheckpointList, TheDirectoryOfARunStandsForItsCheckpoints) {
  const TempDirectory dir;
  EXPECT_EQ(list_directory(dir.path(), false).text, "no checkpoints in " + dir.path() + "\n");
  std::filesystem::create_directory(dir.path("checkpoints"));
  EXPECT_THAT(list_directory(dir.path(), false).text, HasSubstr(dir.path("checkpoints")));
  write_example(checkpoint_path(dir.path("checkpoints"), 50), {{"/model/a", DType::f32, {3}}},
                {{1, 2, 3}});
  const json out = json::parse(list_directory(dir.path(), true).text);
  EXPECT_EQ(out.at("directory"), dir.path("checkpoints"));
  EXPECT_EQ(out.at("checkpoints").at(0).at("step"), 50);
  write_example(checkpoint_path(dir.path(), 70), {{"/model/a", DType::f32, {3}}}, {{1, 2, 3}});
  EXPECT_EQ(json::parse(list_directory(dir.path(), true).text).at("directory"), dir.path());
}

TEST(CheckpointList, SaysWhereALinkToNothingLeads) {
  const TempDirectory dir;
  std::filesystem::create_symlink("/gone/step-000050.h5", checkpoint_path(dir.path(), 50));
  const CheckpointListing listing = list_directory(dir.path(), true);
  EXPECT_FALSE(listing.all_open);
  const json row = json::parse(listing.text).at("checkpoints").at(0);
  EXPECT_EQ(row.at("state"), "unreadable");
  EXPECT_THAT(row.at("problem"), HasSubstr("it is a link to /gone/step-000050.h5"));
  EXPECT_TRUE(row.at("bytes").is_null());
  EXPECT_TRUE(row.at("date").is_null());
  EXPECT_THAT(list_directory(dir.path(), false).text,
              ContainsRegex("50 +- +- +- +- +- +unreadable +step-000050.h5\n +.*link to /gone"));
}

TEST(CheckpointList, SaysWhichRunsMultipliedInEightBits) {
  const TempDirectory dir;
  const std::vector<CheckpointTensor> tensors = {{"/model/a", DType::f32, {3}}};
  CheckpointHeader header = example_header();
  for (const auto& [step, job] :
       {std::pair{50, R"({"fp8": {"enabled": true}})"},
        std::pair{60, R"({"fp8": {"enabled": false}})"}, std::pair{70, "no job"}}) {
    header.job = job;
    write_example(checkpoint_path(dir.path(), step), tensors, {{1, 2, 3}}, header);
  }
  const json out = json::parse(list_directory(dir.path(), true).text);
  EXPECT_EQ(out["checkpoints"][0].value("fp8", false), true);
  EXPECT_FALSE(out["checkpoints"][1].contains("fp8"));
  EXPECT_FALSE(out["checkpoints"][2].contains("fp8"));
  EXPECT_THAT(list_directory(dir.path(), false).text,
              AllOf(ContainsRegex("50 .* f32\\+fp8 +opens"), ContainsRegex("60 .* f32 +opens")));
}

TEST(CheckpointList, OnlyWhatHasACheckpointsNameMustOpen) {
  const TempDirectory dir;
  const std::vector<CheckpointTensor> tensors = {{"/model/a", DType::f32, {3}}};
  for (const int step : {50, 60, 70})
    write_example(checkpoint_path(dir.path(), step), tensors, {{1, 2, 3}});
  EXPECT_EQ(set_aside_later(dir.path(), 60).size(), 1U);
  dir.file("step-000080.h5.tmp", "begun");
  std::filesystem::resize_file(checkpoint_path(dir.path(), 70) + ".superseded", 700);
  EXPECT_TRUE(list_directory(dir.path(), false).all_open);
  std::filesystem::resize_file(checkpoint_path(dir.path(), 50), 700);
  EXPECT_FALSE(list_directory(dir.path(), false).all_open);
}

// Runs as another user if this one may read everything (root).
TEST(CheckpointList, WhatMayNotBeReadIsNotDamaged) {
  namespace fs = std::filesystem;
  const TempDirectory dir;
  const std::string path = checkpoint_path(dir.path(), 50);
  write_example(path, {{"/model/a", DType::f32, {3}}}, {{1, 2, 3}});
  fs::permissions(path, fs::perms::none);
  fs::permissions(dir.path(), fs::perms::all);
  constexpr ::uid_t nobody = 65534;
  const auto found = [&] {
    if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) return std::string("no uid");
    const CheckpointListing listing = list_directory(dir.path(), true);
    const json row = json::parse(listing.text).at("checkpoints").at(0);
    return fmt::format("{}, {}, {}", row.at("state").get<std::string>(), listing.all_open,
                       row.at("problem").get<std::string>());
  };
  EXPECT_EXIT(
      {
        std::fputs(found().c_str(), stderr);
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "^unreadable, false, .*Permission denied");
}

TEST(CheckpointList, NoneAndNoDirectoryAreTold) {
  const TempDirectory dir;
  EXPECT_EQ(list_directory(dir.path(), false).text, "no checkpoints in " + dir.path() + "\n");
  EXPECT_THAT(error_of([&] { list_directory(dir.path("none"), false); }),
              HasSubstr("no directory " + dir.path("none")));
}

}  // namespace
}  // namespace triax
