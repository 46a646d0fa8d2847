// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/step_options.hpp"

#include <gmock/gmock.h>

#include <set>

namespace triax::benchmark {
namespace {

StepOptions parsed(const std::string& line) {
  StepOptions options;
  CLI::App app;
  add_options(app, options);
  app.parse(line);
  return options;
}

std::string name_of(const std::string& line) {
  return case_of(parsed(line), "threads 1");
}

TEST(StepCase, KeepsTheNameOfTheUsual) {
  const std::string usual =
      "gpt2-124m B=2 T=512 f32 tensor 1 pipeline 1 data 1 zero 0 recompute none threads 1";
  EXPECT_EQ(name_of(""), usual);
  // Said, but as it is without.
  EXPECT_EQ(name_of("--micro 2 --gradients f32 --schedule 1f1b --steps 7"), usual);
}

TEST(StepCase, SetsApartWhatDiffers) {
  std::set<std::string> names;
  for (const char* line : {"", "--micro 1", "--gradients bf16", "--schedule gpipe", "--steps 3",
                           "--type bf16", "--type bf16 --gradients f32", "--tokens /dev/null"})
    EXPECT_TRUE(names.insert(name_of(line)).second) << line;
}

TEST(StepOptions, RefusesWhatIsNoNumberOfThings) {
  for (const char* line : {"--batch 0", "--seq 0", "--threads 0", "--layers -1", "--micro 0",
                           "--tensor 0", "--pipeline -2", "--data 0", "--peak-flops 0"})
    EXPECT_THROW(parsed(line), CLI::ParseError) << line;
}

}  // namespace
}  // namespace triax::benchmark
