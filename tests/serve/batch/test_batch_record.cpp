// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch_record.hpp"

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;
using json = nlohmann::ordered_json;

TEST(BatchRecord, GoesOnWithTheSameFactsAlone) {
  const TempDirectory directory;
  const json facts = {{"input", "a"}, {"seed", 3}};
  BatchRecord first(directory.path());
  EXPECT_FALSE(first.exists());
  first.begin(facts);
  EXPECT_GT(first.created(), 0);
  BatchRecord second(directory.path());
  second.begin(facts);
  EXPECT_EQ(second.created(), first.created());
  EXPECT_EQ(second.text("input"), "a");
  EXPECT_FALSE(second.is_complete());
  EXPECT_THAT(error_of([&] {
                second.begin({{"input", "a"}, {"seed", 4}});
              }),
              HasSubstr("seed was 3, and is 4"));
  second.complete();
  EXPECT_TRUE(BatchRecord(directory.path()).is_complete());
  directory.file("batch.json", "{\"facts\": ");
  EXPECT_THAT(error_of([&] { BatchRecord(directory.path()); }), HasSubstr("damaged"));
}

TEST(BatchRecord, TellsFilesApart) {
  const TempDirectory directory;
  directory.file("config.json", "{}");
  directory.file("model.safetensors", "weights");
  const std::string before = files_fingerprint(directory.path());
  EXPECT_EQ(files_fingerprint(directory.path()), before);
  directory.file("notes.txt", "of no effect");
  EXPECT_EQ(files_fingerprint(directory.path()), before);
  directory.file("model.safetensors", "Weights");
  EXPECT_NE(files_fingerprint(directory.path()), before);
  EXPECT_NE(files_fingerprint(directory.path("config.json")), "");
}

}  // namespace
}  // namespace triax::test
