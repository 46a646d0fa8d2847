// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/rolling_windows.hpp"

#include <algorithm>

namespace triax {

Window window_of(const WindowShape& shape, std::int64_t tokens, std::int64_t number) {
  const std::int64_t label = number == 0 ? 1 : 1 + shape.length + (number - 1) * shape.stride;
  const std::int64_t end = std::min(tokens, label + (number == 0 ? shape.length : shape.stride));
  return {std::max<std::int64_t>(0, end - 1 - shape.length), label, end};
}

std::int64_t windows_in(const WindowShape& shape, std::int64_t tokens) {
  if (tokens < 2) return 0;
  const std::int64_t after_first = std::max<std::int64_t>(0, tokens - 1 - shape.length);
  return 1 + (after_first + shape.stride - 1) / shape.stride;
}

LabelledTokens window_request(const Window& window, std::span<const std::int32_t> tokens) {
  const auto count = static_cast<std::size_t>(window.end - window.input);
  LabelledTokens request{{tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count - 1)},
                         {tokens.begin() + 1, tokens.begin() + static_cast<std::ptrdiff_t>(count)}};
  std::fill_n(request.labels.begin(), window.label - window.input - 1, -1);
  return request;
}

void RollingWindows::begin() {
  tokens_.clear();
  first_ = number_ = 0;
  ended_ = false;
}

void RollingWindows::add(std::span<const std::int32_t> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

bool RollingWindows::done() const {
  return ended_ && number_ >= windows_in(shape_, total());
}

bool RollingWindows::next(LabelledTokens& request) {
  const Window whole = window_of(shape_, total() + shape_.length + shape_.stride, number_);
  if (ended_ ? done() : whole.end > total()) return false;
  const Window window = window_of(shape_, total(), number_);
  request = window_request(
      window, std::span(tokens_).subspan(static_cast<std::size_t>(window.input - first_)));
  ++number_;
  // Later windows end behind this one, so that they begin behind end - 1 - length.
  const std::int64_t kept = std::max(first_, window.end - 1 - shape_.length);
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(kept - first_));
  first_ = kept;
  return true;
}

}  // namespace triax
