// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/trace_writer.hpp"

#include <nlohmann/json.hpp>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using nlohmann::json;

TEST(TraceWriter, WritesWhatChromesFormatSays) {
  const TempDirectory directory;
  const std::string path = directory.path("trace.json");
  {
    TraceWriter out(path);
    out.name_process(3, "rank \"3\"");
    out.name_row({3, 1}, "instructions");
    out.slice({3, 1}, {"F c0 l1 m0", "compute", 1'234'567, 2'000'001, R"({"step":4})"});
    out.arrow({3, 1}, TraceWriter::ArrowEnd::from, 77, 1'500'000);
    out.arrow({3, 1}, TraceWriter::ArrowEnd::to, 77, 1'600'000);
    out.slice({3, 1}, {"early", "compute", -11'084'578, -500});
    EXPECT_FALSE(std::filesystem::exists(path)) << "only the whole file has the name";
    out.close(R"({"ranks":4})");
  }
  const json trace = json::parse(contents(path));
  EXPECT_EQ(trace["otherData"]["ranks"], 4);
  const json& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 8U);
  EXPECT_EQ(events[7]["ts"], -11084.578);
  EXPECT_EQ(events[7]["dur"], 11084.078);
  EXPECT_EQ(events[0]["args"]["name"], "rank \"3\"");
  EXPECT_EQ(events[4], json::parse(R"({"ph":"X","pid":3,"tid":1,"ts":1234.567,"dur":765.434,
      "name":"F c0 l1 m0","cat":"compute","args":{"step":4}})"));
  EXPECT_EQ(events[5]["ph"], "s");
  EXPECT_EQ(events[6]["ph"], "f");
  EXPECT_EQ(events[6]["bp"], "e");
  EXPECT_EQ(events[5]["id"], events[6]["id"]);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(TraceWriter, LeavesNothingBehindAFailure) {
  const TempDirectory directory;
  const std::string path = directory.path("trace.json");
  { TraceWriter out(path); }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_THAT(error_of([&] { TraceWriter out(directory.path("absent/trace.json")); }),
              testing::HasSubstr("cannot write"));
}

}  // namespace
}  // namespace triax
