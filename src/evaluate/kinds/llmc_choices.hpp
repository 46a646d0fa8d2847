// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multiple choice from llm.c's evaluation files (dev/data/hellaswag.py, mmlu.py): tokens of GPT-2.
#include <string>

#include "io/files/mapped_file.hpp"
#include "src/evaluate/kinds/choices.hpp"

namespace triax {

/// Whether a file begins with the magic 20240522.
bool is_llmc_choices(const MappedFile& file);

class LlmcChoices : public Task {
 public:
  /// Error where the header or the length of the file is wrong. `length`, `limit`: see JsonChoices.
  LlmcChoices(const std::string& path, std::int64_t length, std::int64_t limit);

  const char* kind() const override { return "multiple_choice"; }
  const std::string& name() const override { return file_.path(); }
  /// Error where the file is damaged.
  bool next(Item& item) override;
  double passed() const override {
    return static_cast<double>(number_) / static_cast<double>(examples_);
  }
  nlohmann::ordered_json score(const Item& item, const Answer& answer) const override {
    return sums_.score(item, answer);
  }
  void add(const nlohmann::ordered_json& score) override { sums_.add(score); }
  nlohmann::ordered_json results() const override { return sums_.results(); }

 private:
  [[noreturn]] void damaged(const std::string& why) const;
  std::uint16_t take(std::size_t end);
  std::vector<std::int32_t> take_tokens(std::size_t end);

  MappedFile file_;
  std::int64_t length_;
  std::int64_t examples_ = 0;  // that are scored
  std::int64_t number_ = 0;    // of the next
  std::size_t at_ = 0;         // byte of the file
  Choices sums_;
};

}  // namespace triax
