// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multiple choice: which of several continuations of a context is the likeliest.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/evaluate/task/mean.hpp"
#include "src/evaluate/task/task.hpp"
#include "src/evaluate/task/text_encoder.hpp"

namespace triax {

/// Lengths of the choices in one unit, and the name of the accuracy that divides by them.
struct ChoiceLengths {
  const char* metric;  // "acc_norm"
  const char* fact;    // of the score: "characters"
};

/// Adds to `item` one request per choice. A context that is too long loses its first tokens.
/// UsageError for a choice without tokens, or of more than `length`.
void add_choice(Item& item, const EncodedPair& pair, std::int64_t length);

/// Scores and sums of a multiple-choice task.
class Choices {
 public:
  explicit Choices(std::vector<ChoiceLengths> lengths)
      : lengths_(std::move(lengths)), norms_(lengths_.size()) {}

  /// `item.facts` has "answer", and a list for each of the lengths. Of equally likely choices the
  /// first counts.
  nlohmann::ordered_json score(const Item& item, const Answer& answer) const;
  void add(const nlohmann::ordered_json& score);
  /// "acc", and an accuracy for each of the lengths, with their standard errors; "truncated":
  /// documents whose context lost its beginning.
  nlohmann::ordered_json results() const;

 private:
  std::vector<ChoiceLengths> lengths_;
  Mean accuracy_;
  std::vector<Mean> norms_;
  std::int64_t truncated_ = 0;
};

}  // namespace triax
