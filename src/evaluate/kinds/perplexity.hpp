// SPDX-License-Identifier: Apache-2.0
#pragma once
// Perplexity from the scores of windows.
#include <cstdint>
#include <nlohmann/json.hpp>

#include "src/evaluate/task/task.hpp"

namespace triax {

/// Facts of a window's score, beside "document" and "window": "bytes" and "words", of the whole
/// document, stand at its last window.
class Perplexity {
 public:
  /// The score of a window, or of a document without one.
  static nlohmann::ordered_json score(const Item& item, const Answer& answer);
  void add(const nlohmann::ordered_json& score);
  /// "tokens", "loss" (nats per token), "perplexity"; where bytes are known "bytes",
  /// "byte_perplexity" and "bits_per_byte"; of texts "words" and "word_perplexity".
  nlohmann::ordered_json results() const;

 private:
  double loglikelihood_ = 0.0;
  std::int64_t documents_ = 0, windows_ = 0, tokens_ = 0, bytes_ = 0, words_ = 0;
};

}  // namespace triax
