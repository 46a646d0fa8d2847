// SPDX-License-Identifier: Apache-2.0
#pragma once
// A task of an evaluation: it turns documents into requests to a model, and the model's answers
// into scores. It knows neither models nor ranks.
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace triax {

/// A sequence whose labels are scored: labels[p] is to follow inputs[0..p]; -1: not scored.
struct LabelledTokens {
  std::vector<std::int32_t> inputs, labels;
};

/// A text to continue by the likeliest tokens.
struct Prompt {
  std::vector<std::int32_t> tokens;
  std::int64_t max_tokens = 0;
  /// Whether the text ends with the last of the tokens generated so far.
  std::function<bool(std::span<const std::int32_t>)> ends;
};

/// The unit of scores: a document, or a window of a long one.
struct Item {
  std::string where;             // "file:line", for errors
  nlohmann::ordered_json facts;  // of its score
  std::vector<LabelledTokens> requests;
  std::optional<Prompt> prompt;
};

struct Answer {
  std::vector<double> loglikelihoods;  // by request
  std::vector<std::int32_t> tokens;    // generated
};

class Task {
 public:
  virtual ~Task() = default;
  virtual const char* kind() const = 0;         // "perplexity", "multiple_choice", "generation"
  virtual const std::string& name() const = 0;  // for the user: its file
  /// The next item, false at the end. Error with file and line.
  virtual bool next(Item& item) = 0;
  /// Share of the documents that next() has passed, from 0 to 1.
  virtual double passed() const = 0;
  /// Score of an item: its facts and what the answer adds. add() needs no more than this.
  virtual nlohmann::ordered_json score(const Item& item, const Answer& answer) const = 0;
  /// Adds a score to the results. Scores come in the order of the items.
  virtual void add(const nlohmann::ordered_json& score) = 0;
  /// Metrics by their names in lm-evaluation-harness; "NAME_stderr" is the standard error of NAME.
  virtual nlohmann::ordered_json results() const = 0;
};

}  // namespace triax
