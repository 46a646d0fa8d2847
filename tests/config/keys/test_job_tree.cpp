// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/job_tree.hpp"

#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using nlohmann::json;

class JobTreeTest : public testing_support::JobFiles {
 protected:
  JobTree read(const std::string& file, const std::vector<std::string>& set = {}) {
    ErrorList errors;
    auto tree = read_job(file, set, errors);
    errors.raise();
    return tree;
  }
};

TEST_F(JobTreeTest, MergesDeepAndKeepsOrigins) {
  write("bases/root.json",
        "{\"a\": {\"x\": 1, \"y\": 2},\n\"list\": [1, 2], \"gone\": {\"z\": 1}}");
  write("bases/middle.json", "{\"extends\": \"root.json\", \"a\": {\"y\": 3}}");
  const auto file = write(
      "job.json",
      "{\"extends\": \"bases/middle.json\",\n\"list\": [3],\n\"gone\": null, \"a\": {\"w\": {}}}");
  const auto tree = read(file);
  EXPECT_EQ(tree.root,
            json::parse(R"({"a": {"x": 1, "y": 3, "w": {}}, "list": [3], "gone": null})"));
  EXPECT_EQ(tree.origin("a.x").text(), path("bases/root.json") + ":1");
  EXPECT_EQ(tree.origin("a.y").text(), path("bases/middle.json") + ":1");
  EXPECT_EQ(tree.origin("list").text(), file + ":2");
  EXPECT_EQ(tree.origin("gone.z").text(), file + ":3") << "the nearest section above";
  EXPECT_EQ(tree.origin("nowhere").text(), file + ":1");
}

TEST_F(JobTreeTest, OverridesAreJsonOrElseText) {
  const auto file = write("job.json", "{\"a\": {\"b\": 1}, \"c\": 5}");
  const auto tree =
      read(file, {"a.b=2", "a.d=word", "a.e=[1,2]", "a.f=\"3\"", "c.deep.er=true", "g=x=y", "h="});
  EXPECT_EQ(
      tree.root,
      json::parse(
          R"({"a": {"b": 2, "d": "word", "e": [1, 2], "f": "3"}, "c": {"deep": {"er": true}}, "g": "x=y", "h": ""})"));
  EXPECT_EQ(tree.origin("a.b").text(), "--set");
}

TEST_F(JobTreeTest, RefusesBadOverrides) {
  const auto file = write("job.json", "{}");
  for (const auto* bad : {"novalue", "=1", ".a=1", "a.=1", "a..b=1"})
    EXPECT_THROW(read(file, {bad}), UsageError) << bad;
  EXPECT_EQ(error("", 1, {R"(run={"steps":1,"steps":2})", R"(data={"seed":1})"}),
            "--set: run.steps: written twice in this object");
}

TEST_F(JobTreeTest, RefusesCyclesAndMissingBases) {
  write("a.json", "{\"extends\": \"b.json\"}");
  write("b.json", "{\n\"extends\": \"./a.json\"}");
  EXPECT_THAT(error_of(path("a.json")),
              testing::StartsWith("b.json:2: extends: ./a.json is extended in a cycle"));
  EXPECT_THAT(
      error_of(write("c.json", "{\"extends\": \"none.json\"}")),
      testing::HasSubstr("c.json:1: extends: no such file: none.json (relative to c.json)"));
  EXPECT_THAT(error_of(write("d.json", "{\"extends\": 3}")),
              testing::HasSubstr("d.json:1: extends: expected path, got 3"));
  EXPECT_THAT(
      error_of(write("e.json", "{\"extends\": \"d.json\\u0000\"}")),
      testing::HasSubstr("e.json:1: extends: \"d.json\\u0000\": a path cannot contain a NUL"));
  EXPECT_EQ(
      error("", 1, {"extends=d.json", "run.steps=0"}),
      "--set: extends: only a job file can extend another, not --set. Write it into the file\n"
      "--set: run.steps: 0 is not allowed (allowed: >= 1)");
  EXPECT_THAT(error_of(path("nothing.json")), testing::HasSubstr("no such job file"));
}

TEST_F(JobTreeTest, FilesThatCannotBeLookedAtAreRefused) {
  std::filesystem::create_symlink("loopy", path("loopy"));
  EXPECT_THAT(error_of(path("loopy")), testing::StartsWith("loopy: cannot read (Too many levels"));
  EXPECT_THAT(error_of(path(std::string(300, 'n'))),
              testing::EndsWith("n: cannot read (File name too long)"));
  EXPECT_THAT(error_of(write("job.json", "{\n\"extends\": \"loopy\"}")),
              testing::StartsWith("job.json:2: extends: loopy: cannot read (Too many levels"));
}

}  // namespace
}  // namespace triax
