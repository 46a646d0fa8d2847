// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch.hpp"

#include "src/serve/batch/batch_record.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;
using json = nlohmann::ordered_json;

TEST(BatchSettings, AreKeysOfTheTable) {
  const BatchSettings settings =
      batch_settings({"serve.grace=5s", "run.stop_before_end=2m", "inference.sequences=7"});
  EXPECT_EQ(settings.serve.grace, 5);
  EXPECT_EQ(settings.run.stop_before_end, 120);
  EXPECT_EQ(settings.serve.engine.sequences, 7);
  EXPECT_EQ(settings.serve.answers, 128);
  EXPECT_THAT(error_of([] { batch_settings({"serve.port=1"}); }),
              HasSubstr("triax batch has no such key"));
}

TEST(BatchPart, IsOneOfN) {
  EXPECT_EQ(batch_part("").parts, 1);
  EXPECT_EQ(batch_part("3/8").part, 3);
  EXPECT_EQ(batch_part("3/8").parts, 8);
  for (const char* wrong : {"8/8", "-1/8", "1", "1/", "/2", "1/2x", "a/b"})
    EXPECT_TRUE(is_usage_error([&] { batch_part(wrong); })) << wrong;
}

TEST(BatchStatus, CountsLines) {
  const TempDirectory directory;
  EXPECT_THAT(error_of([&] { batch_status(directory.path()); }), HasSubstr("has no batch"));
  const std::string input = directory.file("in.jsonl", "{}\n\n{}\n \n{}");
  BatchRecord(directory.path()).begin({{"input", input}, {"part", "0/2"}});
  AnswerFiles files(directory.path());
  files.add(1, true, R"({"line":1})");
  files.commit();
  const json status = batch_status(directory.path());
  EXPECT_EQ(status["lines"], 3) << "the lines 1, 3 and 5 are not empty";
  EXPECT_EQ(status["answered"], 1);
  EXPECT_EQ(status["errors"], 1);
  EXPECT_EQ(status["complete"], false);
  EXPECT_EQ(batch_status_text("D", status), "D: 1 of 3 lines answered, 1 of them with errors");
  std::filesystem::remove(input);
  EXPECT_EQ(batch_status(directory.path())["lines"], nullptr);
}

}  // namespace
}  // namespace triax::test
