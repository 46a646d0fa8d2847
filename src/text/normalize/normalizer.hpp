// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes of the text before it is cut into pieces.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/text/split/splitter.hpp"

namespace triax {

/// Immutable: threads share it.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Writes the normalized text to `out`, which is empty, and returns true; or returns false where
  /// `text` is normalized already, with `out` unchanged.
  virtual bool apply(std::string_view text, std::string& out) const = 0;
};

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

/// Applies all in order. The result is `text` itself or lies in `a` or `b`.
std::string_view normalized(std::string_view text, const Normalizers& normalizers, std::string& a,
                            std::string& b);

/// Replaces each match by `content`.
std::unique_ptr<const Normalizer> replacing(std::shared_ptr<const Splitter> pattern,
                                            std::string content);
/// Puts `content` before a text that is not empty.
std::unique_ptr<const Normalizer> prepending(std::string content);
/// Removes White_Space at the ends.
std::unique_ptr<const Normalizer> stripping(bool left, bool right);
/// Lower case of each character, as Rust's char::to_lowercase has it.
std::unique_ptr<const Normalizer> lowering();

}  // namespace triax
