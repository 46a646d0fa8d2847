// SPDX-License-Identifier: Apache-2.0
#pragma once
// The JSON of replies: what completions and chat completions do not have in common.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/serve/answer/answer_text.hpp"

namespace triax {

class ReplyFormat {
 public:
  virtual ~ReplyFormat() = default;
  virtual const char* route() const = 0;
  virtual const char* id_prefix() const = 0;
  /// "object" of a whole reply, and of an event of a stream.
  virtual const char* object(bool stream) const = 0;
  /// Name of the list of choices.
  virtual const char* list() const { return "choices"; }
  /// Events before the first text of a choice; null: none.
  virtual nlohmann::ordered_json opening(std::int64_t index) const = 0;
  /// A choice with all its text, or with what an event adds.
  virtual nlohmann::ordered_json choice(std::int64_t index, const AnswerDelta& delta,
                                        bool stream) const = 0;
};

std::unique_ptr<const ReplyFormat> completion_format(bool log_probabilities);
std::unique_ptr<const ReplyFormat> chat_format(bool log_probabilities);
/// Log-probabilities of the tokens from answered[index] on, of a request that echoes its prompt.
std::unique_ptr<const ReplyFormat> score_format(std::vector<std::size_t> answered, bool chat);

/// Vectors of length 1 along the embeddings; base64: of float32, little-endian.
std::unique_ptr<const ReplyFormat> embedding_format(Pooling pooling, bool base64);

/// "finish_reason" of an answer; null while it goes on.
nlohmann::ordered_json finish_reason(const AnswerDelta& delta);
/// A log-probability in JSON, which has no infinity.
double finite(float log_probability);

/// Text of JSON; bytes that are no UTF-8 become U+FFFD.
std::string dump(const nlohmann::ordered_json& value);

}  // namespace triax
