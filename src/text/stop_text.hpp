// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts that end a generated text.
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// Passes text on up to the first stop text, which may come in pieces: text that may begin one is
/// held back until more is known.
class StopText {
 public:
  /// `stops` are not empty texts; without any, all text passes.
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Text that is known to lie before any stop text, now that `piece` has come. Empty once
  /// stopped().
  std::string next(std::string_view piece);
  /// Text that was held back, at the end.
  std::string rest();
  /// Whether a stop text has come. It is not passed on.
  bool stopped() const { return stopped_; }
  /// The stop text that has come; empty: none.
  const std::string& found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, found_;
  bool stopped_ = false;
};

}  // namespace triax
