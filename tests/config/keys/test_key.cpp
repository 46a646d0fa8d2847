// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triax {
namespace {
using nlohmann::json;
using testing::HasSubstr;

std::string problem(const Key& key, const json& value) {
  return problem_with(key, value).value_or("none");
}

TEST(Key, ChecksTypes) {
  const auto key = [](KeyType type) { return obeyed("k", type, nullptr, anything(), "m"); };
  EXPECT_EQ(problem(key(KeyType::integer), 5e8), "none");
  EXPECT_EQ(problem(key(KeyType::integer), 1.5), "expected integer, got 1.5");
  EXPECT_EQ(problem(key(KeyType::integer), std::numeric_limits<std::uint64_t>::max()),
            "18446744073709551615 is not allowed (allowed: below 2^63)");
  EXPECT_EQ(problem(key(KeyType::integer), "3"), "expected integer, got \"3\"");
  EXPECT_EQ(problem(key(KeyType::integer), true), "expected integer, got true");
  EXPECT_EQ(problem(key(KeyType::number), 3), "none");
  EXPECT_EQ(problem(key(KeyType::boolean), 1), "expected boolean, got 1");
  EXPECT_EQ(problem(key(KeyType::strings), json::array({"a", 1})),
            "expected string or list of strings, got [\"a\",1]");
  EXPECT_EQ(problem(key(KeyType::strings), "a"), "none");
  EXPECT_EQ(problem(key(KeyType::numbers), json::array({1, 2.5})), "none");
  EXPECT_EQ(problem(key(KeyType::object), json::array()), "expected object, got []");
  EXPECT_EQ(problem(key(KeyType::any), json::array()), "none");
  EXPECT_EQ(problem(key(KeyType::integer), nullptr), "none") << "null is absent";
}

TEST(Key, PathsWithNamesThatAShellReplacesAreRefused) {
  const auto key = obeyed("k", KeyType::paths, nullptr, anything(), "m");
  EXPECT_EQ(problem(key, 3), "expected path or list of paths, got 3");
  for (const char* good : {"a/b", "./~", "a~", "a/~b", "prices$2020", "a$", "/a b/*.bin"})
    EXPECT_EQ(problem(key, good), "none");
  EXPECT_EQ(problem(key, "~/runs"),
            "\"~/runs\": paths are taken literally, and ~ is not expanded. Write the path out, or "
            "./~/runs if that is its name");
  EXPECT_THAT(problem(key, "~"), HasSubstr("or ./~ if"));
  EXPECT_THAT(problem(key, "~me/runs"), HasSubstr("~me is not expanded"));
  EXPECT_EQ(problem(key, json::array({"a", "$SCRATCH/runs"})),
            "\"$SCRATCH/runs\": paths are taken literally, and $SCRATCH is not expanded. Write the "
            "path out");
  EXPECT_THAT(problem(key, "/a/run-${SLURM_JOB_ID}/b"),
              HasSubstr("${SLURM_JOB_ID} is not expanded"));
  EXPECT_EQ(problem(obeyed("k", KeyType::string, nullptr, anything(), "m"), "$a"), "none");
}

TEST(Key, PathsNameSomething) {
  using namespace std::string_literals;
  const auto key = obeyed("k", KeyType::paths, nullptr, anything(), "m");
  for (const json& empty : {json(""), json::array({"a", ""})})
    EXPECT_EQ(problem(key, empty),
              "an empty path. Name a file or a directory (\".\" is the working directory)");
  EXPECT_EQ(problem(key, json::array({"a", "runs/b\0x"s})),
            "\"runs/b\\u0000x\": a path cannot contain a NUL character. Leave it out");
}

TEST(Key, ChecksRanges) {
  const auto key = [](Allowed allowed) {
    return obeyed("k", KeyType::number, nullptr, std::move(allowed), "m");
  };
  EXPECT_EQ(problem(key(at_least(1)), 1), "none");
  EXPECT_EQ(problem(key(at_least(1)), 0), "0 is not allowed (allowed: >= 1)");
  EXPECT_EQ(problem(key(above(0)), 0), "0 is not allowed (allowed: > 0)");
  EXPECT_EQ(problem(key(from_to(0, 1)), 1), "none");
  EXPECT_EQ(problem(key(from_below(0, 1)), 1), "1 is not allowed (allowed: 0 <= x < 1)");
  EXPECT_EQ(
      problem(obeyed("k", KeyType::numbers, nullptr, from_below(0, 1), "m"), json::array({0.5, 1})),
      "[0.5,1] is not allowed (allowed: 0 <= x < 1)");
}

TEST(Key, ChecksDurations) {
  const auto key = obeyed("k", KeyType::duration, "10m", from_to(1, 3600), "m");
  for (const json& good : {json("30s"), json("1h"), json(1), json(2.5), json("10m")})
    EXPECT_EQ(problem(key, good), "none") << good;
  EXPECT_EQ(problem(key, "ten minutes"),
            "expected duration (\"30s\", \"10m\", \"2h\", or seconds), got \"ten minutes\"");
  EXPECT_EQ(problem(key, true),
            "expected duration (\"30s\", \"10m\", \"2h\", or seconds), got true");
  EXPECT_EQ(problem(key, "2h"), "\"2h\" is not allowed (allowed: 1 <= x <= 3600)");
  EXPECT_EQ(problem(key, 0), "0 is not allowed (allowed: 1 <= x <= 3600)");
  EXPECT_EQ(seconds_of("2m"), 120.0);
  EXPECT_EQ(seconds_of(2), 2.0);
}

TEST(Key, ChecksChoices) {
  const auto key =
      obeyed("k", KeyType::string, "a", one_of({"a", "b"}), "m").without({"c"}).or_auto();
  EXPECT_EQ(problem(key, "b"), "none");
  EXPECT_EQ(problem(key, "auto"), "none");
  EXPECT_EQ(problem(key, "c"), "\"c\" is not built yet. Use \"a\", \"b\"");
  EXPECT_EQ(problem(key, "d"), "\"d\" is not allowed (allowed: \"a\", \"b\", or \"auto\")");
  EXPECT_EQ(problem(key, "B"),
            "\"B\" is not allowed (allowed: \"a\", \"b\", or \"auto\"; nearest: \"b\")");
  EXPECT_EQ(problem(obeyed("k", KeyType::string, "a", one_of_any_case({"aB"}), "m"), "Ab"), "none");
}

TEST(Key, RefusesAllButTheDefaultWithTheReason) {
  const auto key = refused("k", KeyType::boolean, false, "m", "because");
  EXPECT_EQ(problem(key, false), "none");
  EXPECT_EQ(problem(key, nullptr), "none");
  EXPECT_EQ(problem(key, true), "true is refused (because). Leave it out");
  EXPECT_EQ(problem(key, "yes"), "expected boolean, got \"yes\"");
}

TEST(Key, ShortensLongValues) {
  EXPECT_THAT(problem(obeyed("k", KeyType::integer, 1, anything(), "m"), std::string(1000, 'x')),
              HasSubstr("xxx..."));
}

}  // namespace
}  // namespace triax
