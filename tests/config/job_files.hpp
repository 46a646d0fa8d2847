// SPDX-License-Identifier: Apache-2.0
#pragma once
// A directory of job files for one test, and the errors of a job.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/config/load/load.hpp"

namespace triax::testing_support {

class JobFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(testing::TempDir()) /
                 (std::string("triax-") + test->test_suite_name() + "-" + test->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    write("text.txt", "some text");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
    return path(name);
  }
  /// A small valid job. `more` holds further members, each after a comma. The micro-batch is 1
  /// unless `more` has a batch.
  std::string job(const std::string& more = {}) const {
    const bool batch = more.find("\"train_batch_size\"") != std::string::npos ||
                       more.find("\"train_micro_batch_size_per_gpu\"") != std::string::npos;
    return write("job.json", std::string("{") +
                                 (batch ? "" : "\"train_micro_batch_size_per_gpu\": 1,") + R"(
  "model": {"architecture": "gpt2", "n_layer": 8, "n_head": 4, "n_embd": 64, "n_positions": 128, "vocab_size": 256},
  "data": {"train": "text.txt"})" +
                                 more + "}\n");
  }
  Config config(const std::string& more, int ranks = 1,
                const std::vector<std::string>& set = {}) const {
    return load_job(job(more), set, ranks).config;
  }
  /// The error's text without the test's directory; "" if there is none.
  std::string error_of(const std::string& file, int ranks = 1,
                       const std::vector<std::string>& set = {}) const {
    try {
      load_job(file, set, ranks);
    } catch (const UsageError& e) {
      std::string text = e.what();
      const auto prefix = directory_.string() + "/";
      for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
        text.erase(at, prefix.size());
      return text;
    }
    return {};
  }
  std::string error(const std::string& more, int ranks = 1,
                    const std::vector<std::string>& set = {}) const {
    return error_of(job(more), ranks, set);
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace triax::testing_support
