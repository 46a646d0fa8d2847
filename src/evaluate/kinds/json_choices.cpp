// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/json_choices.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Characters as Python's len counts them.
std::int64_t characters(const std::string& text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

}  // namespace

JsonChoices::JsonChoices(const InputFile& file, const EvaluationTokenizer& tokenizer,
                         std::int64_t length, std::string delimiter, std::int64_t limit)
    : name_(file.path),
      records_(file),
      encoder_(tokenizer),
      length_(length),
      delimiter_(std::move(delimiter)),
      limit_(limit),
      sums_({{"acc_norm", "characters"}, {"acc_bytes", "bytes"}}) {}

bool JsonChoices::next(Item& item) {
  JsonRecord record;
  if ((limit_ > 0 && document_ == limit_) || !records_.next(record)) return false;
  item = {};
  item.where = record.where();
  const std::string context = record.text("context");
  const std::vector<std::string> choices = record.texts("choices", false);
  if (!encoder_.tokenizer().prefix && trailing_space(context) == context.size())
    record.refuse("context", "it is empty, and the tokenizer names no token that begins a text");
  if (choices.empty()) record.refuse("choices", "the list is empty");
  const std::int64_t answer = record.integer("answer");
  if (answer < 0 || answer >= std::ssize(choices))
    record.refuse("answer",
                  fmt::format("{} is not an index of {} choices, from 0", answer, choices.size()));
  item.facts["document"] = document_++;
  item.facts["answer"] = answer;
  for (const std::string& choice : choices) {
    if (choice.empty()) record.refuse("choices", "a choice is empty");
    item.facts["characters"].push_back(characters(choice));
    item.facts["bytes"].push_back(choice.size());
    add_choice(item, encoder_.encode_pair(context, delimiter_ + choice), length_);
  }
  return true;
}

}  // namespace triax
