// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixture: a directory with a job of two steps.
#include <gmock/gmock.h>

#include "tests/commands/program.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

class SmallJob : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i) + "\n";
    directory_.file("text.txt", text);
    directory_.file("job.json", R"({
      "model": {"architecture": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 16, "vocab_size": 256},
      "data": {"train": "text.txt"}, "run": {"steps": 2, "directory": ")" +
                                    directory_.path("run") + R"("}, "train_batch_size": 2})");
  }
  Outcome on_job(const std::string& command, const std::string& more = "") const {
    return triax(command + " " + shell_word(directory_.path("job.json")) + " " + more);
  }
  TempDirectory directory_;
};

}  // namespace triax::test
