// SPDX-License-Identifier: Apache-2.0
#pragma once
// Generation from JSON lines: {"prompt": TEXT, "answer": TEXT or [TEXT, ...], "stop": TEXT or
// [TEXT,
// ...]}, with "stop" and "max_tokens" optional. The likeliest tokens continue the prompt; the text
// before the first stop must be an answer.
#include <string>

#include "src/evaluate/task/json_records.hpp"
#include "src/evaluate/task/mean.hpp"
#include "src/evaluate/task/task.hpp"
#include "src/evaluate/task/text_encoder.hpp"

namespace triax {

struct GenerationTaskOptions {
  std::int64_t max_tokens = 256;  // of a document that names none
  bool strip = false;             // white space at the ends does not count
  bool ignore_case = false;
};

class Generation : public Task {
 public:
  /// `length`, `limit`: see JsonChoices.
  Generation(const InputFile& file, const EvaluationTokenizer& tokenizer, std::int64_t length,
             const GenerationTaskOptions& options, std::int64_t limit);

  const char* kind() const override { return "generation"; }
  const std::string& name() const override { return name_; }
  bool next(Item& item) override;
  double passed() const override { return records_.passed(); }
  nlohmann::ordered_json score(const Item& item, const Answer& answer) const override;
  void add(const nlohmann::ordered_json& score) override;
  nlohmann::ordered_json results() const override;

 private:
  std::string normalized(std::string text) const;

  std::string name_;
  JsonRecords records_;
  TextEncoder encoder_;
  std::int64_t length_;
  GenerationTaskOptions options_;
  std::int64_t limit_;
  std::int64_t document_ = 0;  // number of the next
  Mean exact_;
  std::int64_t truncated_ = 0;
};

}  // namespace triax
