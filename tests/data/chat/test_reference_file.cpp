// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/reference_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/fixtures.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

TEST(ReferenceFile, KeepsLogProbabilitiesBitForBit) {
  const TempDirectory directory;
  const std::string path = directory.path("new/a.h5");
  EXPECT_NE(error_of([&] { (void)read_reference(path, 2); }), "") << "there is none";
  const std::vector<double> log_probs = {-1.0 / 3.0, -2e-300, -4.0, -1e5};
  write_reference(path, log_probs, "model");
  EXPECT_EQ(read_reference(path, 2), log_probs);
  EXPECT_THAT(error_of([&] { (void)read_reference(path, 3); }),
              testing::HasSubstr("6 log-probabilities of 3 pairs"));
}

TEST(ReferenceFile, ItsNameDependsOnDataAndModel) {
  const TempDirectory directory;
  const std::string file = directory.file("a.jsonl-1.h5", "data");
  const std::string path = reference_path("runs/data", file, "model");
  EXPECT_THAT(path, testing::MatchesRegex("runs/data/a.jsonl-1-reference-[0-9a-f]*.h5"));
  EXPECT_EQ(reference_path("runs/data", file, "model"), path);
  EXPECT_NE(reference_path("runs/data", file, "other"), path);
  directory.file("a.jsonl-1.h5", "Data");
  EXPECT_NE(reference_path("runs/data", file, "model"), path);
}

}  // namespace
}  // namespace triax::test
