// SPDX-License-Identifier: Apache-2.0
#pragma once
// Windows over a sequence of tokens that score each of them once, but the first.
#include <cstdint>
#include <span>
#include <vector>

#include "src/evaluate/task/task.hpp"

namespace triax {

/// Length of the windows and the distance of their ends, in tokens.
struct WindowShape {
  std::int64_t length = 1, stride = 1;  // 1 <= stride <= length
};

/// Tokens [input, end - 1) of a sequence are the inputs, [label, end) the labels.
struct Window {
  std::int64_t input = 0, label = 1, end = 1;
};

/// Window number `number` of a sequence of `tokens` tokens: the first scores up to `length` tokens,
/// each later one up to `stride`, with all the context that fits. With stride = length it is
/// lm-evaluation-harness's get_rolling_token_windows of context_len 1; in general of context_len =
/// length - stride + 1.
Window window_of(const WindowShape& shape, std::int64_t tokens, std::int64_t number);
/// Windows of a sequence of `tokens` tokens.
std::int64_t windows_in(const WindowShape& shape, std::int64_t tokens);

/// The request of a window of `tokens`, which begin with the window's inputs.
LabelledTokens window_request(const Window& window, std::span<const std::int32_t> tokens);

/// The windows of a sequence that comes piece by piece.
class RollingWindows {
 public:
  explicit RollingWindows(const WindowShape& shape) : shape_(shape) {}
  void begin();
  void add(std::span<const std::int32_t> tokens);
  /// The sequence has no more tokens.
  void end() { ended_ = true; }
  /// The next window whose tokens are there; false where there is none.
  bool next(LabelledTokens& request);
  std::int64_t number() const { return number_; }  // of the window that next() will give
  /// Whether next() has given the last window, or there is none.
  bool done() const;

 private:
  WindowShape shape_;
  std::vector<std::int32_t> tokens_;  // [first_, first_ + size) of the sequence
  std::int64_t first_ = 0;
  std::int64_t number_ = 0;
  bool ended_ = false;
  std::int64_t total() const { return first_ + std::ssize(tokens_); }
};

}  // namespace triax
