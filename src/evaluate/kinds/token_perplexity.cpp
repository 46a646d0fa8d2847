// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/token_perplexity.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

TokenPerplexity::TokenPerplexity(std::string name, std::unique_ptr<TokenFile> file,
                                 std::shared_ptr<const Tokenizer> tokenizer,
                                 const WindowShape& shape, std::int64_t limit)
    : name_(std::move(name)),
      file_(std::move(file)),
      tokenizer_(std::move(tokenizer)),
      shape_(shape),
      windows_(windows_in(shape, file_->size())) {
  if (windows_ == 0)
    throw UsageError(fmt::format("{} has {} token(s)", name_, file_->size()),
                     "the first one is context, so that nothing would be scored",
                     "Give a file of more tokens");
  if (limit > 0) windows_ = std::min(windows_, limit);
}

bool TokenPerplexity::next(Item& item) {
  if (number_ == windows_) return false;
  const Window window = window_of(shape_, file_->size(), number_);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(window.end - window.input));
  file_->read(window.input, tokens);
  item = {};
  item.where = fmt::format("{}, tokens {} to {}", name_, window.input, window.end);
  item.facts["window"] = number_;
  item.facts["first"] = window.label;
  item.requests.push_back(window_request(window, tokens));
  if (file_->has_labels()) {
    file_->read_labels(window.input, tokens);
    std::vector<std::int32_t>& labels = item.requests.back().labels;
    for (std::size_t p = 0; p < labels.size(); ++p)
      if (labels[p] >= 0) labels[p] = std::max(tokens[p + 1], -1);
  }
  file_->check_length();
  ++number_;
  return true;
}

nlohmann::ordered_json TokenPerplexity::score(const Item& item, const Answer& answer) const {
  nlohmann::ordered_json score = Perplexity::score(item, answer);
  if (!tokenizer_) return score;
  std::vector<std::int32_t> scored = item.requests.front().labels;
  std::erase_if(scored, [](std::int32_t label) { return label < 0; });
  score["bytes"] = tokenizer_->decode(scored, true).size();
  return score;
}

nlohmann::ordered_json TokenPerplexity::results() const {
  nlohmann::ordered_json results = sums_.results();
  results.erase("documents");
  return results;
}

}  // namespace triax
