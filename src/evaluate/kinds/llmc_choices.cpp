// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/llmc_choices.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int32_t magic = 20240522;
constexpr std::size_t header_bytes = 256 * sizeof(std::int32_t);
constexpr std::uint16_t start_of_example = 65535;

}  // namespace

bool is_llmc_choices(const MappedFile& file) {
  return file.size() >= sizeof magic && load<std::int32_t>(file.data()) == magic;
}

LlmcChoices::LlmcChoices(const std::string& path, std::int64_t length, std::int64_t limit)
    : file_(path),
      length_(length),
      at_(header_bytes),
      sums_(std::vector<ChoiceLengths>{{"acc_norm", "tokens"}}) {
  if (file_.size() < header_bytes)
    damaged(fmt::format("{} bytes, the header alone has {}", file_.size(), header_bytes));
  if (const auto version = load<std::int32_t>(file_.data() + 4); version != 1)
    damaged(fmt::format("version {}, only version 1 is known", version));
  examples_ = load<std::int32_t>(file_.data() + 8);
  if (examples_ < 1) damaged(fmt::format("the header counts {} examples", examples_));
  if (limit > 0) examples_ = std::min(examples_, limit);
}

void LlmcChoices::damaged(const std::string& why) const {
  throw Error(fmt::format("{} is a truncated or damaged evaluation file of llm.c", file_.path()),
              why, "Fetch the whole of it, or make it again with llm.c's dev/data");
}

// The next number, which must lie in front of byte `end`.
std::uint16_t LlmcChoices::take(std::size_t end) {
  if (at_ + sizeof(std::uint16_t) > end)
    damaged(fmt::format("example {} ends at byte {}, within its numbers", number_, end));
  const auto value = load<std::uint16_t>(file_.data() + at_);
  at_ += sizeof value;
  return value;
}

std::vector<std::int32_t> LlmcChoices::take_tokens(std::size_t end) {
  std::vector<std::int32_t> tokens(take(end));
  for (std::int32_t& token : tokens) token = take(end);
  return tokens;
}

bool LlmcChoices::next(Item& item) {
  if (number_ == examples_) return false;
  const std::size_t begin = at_;
  if (take(file_.size()) != start_of_example)
    damaged(fmt::format("no example begins at byte {}, where example {} should", begin, number_));
  const std::size_t end = begin + take(file_.size());
  if (end > file_.size())
    damaged(fmt::format("example {} ends at byte {}, the file at {}", number_, end, file_.size()));
  if (const auto index = take(end); index != number_)
    damaged(fmt::format("example {} stands in place of example {}", index, number_));
  item = {};
  item.where = fmt::format("{}, example {}", file_.path(), number_);
  const std::int64_t label = take(end);
  const std::int64_t choices = take(end);
  if (choices == 0) damaged(fmt::format("example {} has no choices", number_));
  if (label >= choices)
    damaged(fmt::format("example {}: the answer {} is not an index of {} choices, from 0", number_,
                        label, choices));
  item.facts["document"] = number_;
  item.facts["answer"] = label;
  EncodedPair pair{take_tokens(end), {}};
  if (pair.context.empty()) damaged(fmt::format("example {} has no context", number_));
  for (std::int64_t choice = 0; choice < choices; ++choice) {
    pair.continuation = take_tokens(end);
    item.facts["tokens"].push_back(pair.continuation.size());
    add_choice(item, pair, length_);
  }
  if (at_ != end)
    damaged(fmt::format("example {} has {} bytes behind its choices", number_, end - at_));
  file_.check_length();
  ++number_;
  return true;
}

}  // namespace triax
