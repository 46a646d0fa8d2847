// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multiple choice from JSON lines: {"context": TEXT, "choices": [TEXT, ...], "answer": INDEX}.
#include <string>

#include "src/evaluate/kinds/choices.hpp"
#include "src/evaluate/task/json_records.hpp"

namespace triax {

class JsonChoices : public Task {
 public:
  /// `length`: longest sequence in tokens. `delimiter` stands between context and choice. `limit`:
  /// most documents; 0: all.
  JsonChoices(const InputFile& file, const EvaluationTokenizer& tokenizer, std::int64_t length,
              std::string delimiter, std::int64_t limit);

  const char* kind() const override { return "multiple_choice"; }
  const std::string& name() const override { return name_; }
  bool next(Item& item) override;
  double passed() const override { return records_.passed(); }
  nlohmann::ordered_json score(const Item& item, const Answer& answer) const override {
    return sums_.score(item, answer);
  }
  void add(const nlohmann::ordered_json& score) override { sums_.add(score); }
  nlohmann::ordered_json results() const override { return sums_.results(); }

 private:
  std::string name_;
  JsonRecords records_;
  TextEncoder encoder_;
  std::int64_t length_;
  std::string delimiter_;
  std::int64_t limit_;
  std::int64_t document_ = 0;  // number of the next
  Choices sums_;
};

}  // namespace triax
