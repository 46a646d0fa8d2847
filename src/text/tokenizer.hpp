// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text to token ids and back, for every kind of tokenizer.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

struct EncodeOptions {
  // Special tokens that the text names literally ("<|im_end|>") are taken for them. Off: they are
  // split as any other text, so that user data cannot forge them.
  bool special_tokens_in_text = false;
  // The post-processor's tokens (BOS of Llama) are added.
  bool add_special_tokens = false;
};

/// A tokenizer as its files define it. Immutable: threads share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Scratch memory and cache of words of one thread. Outlived by the tokenizer.
  class Encoder {
   public:
    virtual ~Encoder() = default;
    /// Appends the ids of `text`, which is valid UTF-8, to `ids`.
    virtual void encode(std::string_view text, const EncodeOptions& options,
                        std::vector<std::int32_t>& ids) = 0;
  };
  virtual std::unique_ptr<Encoder> encoder() const = 0;

  /// The text of `ids`; UsageError for an id outside the vocabulary. Bytes that are no UTF-8 stay
  /// as they are for byte-level tokenizers.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const = 0;

  /// One more than the largest id.
  virtual std::int32_t vocabulary() const = 0;
  /// Text of one id as the vocabulary spells it; empty for an id that has none.
  virtual std::string token(std::int32_t id) const = 0;
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;
  /// The token that ends a document (eos_token of tokenizer_config.json, or of the format).
  virtual std::optional<std::int32_t> end_token() const = 0;
  /// SHA-256, in hexadecimal, of what decides the ids: equal for equal tokenizers.
  virtual const std::string& fingerprint() const = 0;
};

/// Opens the tokenizer of a directory (Hugging Face's or Mistral's) or of one file; its content
/// decides the format. UsageError where a part of it is not known, named by its place in the file.
std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path);

/// One token per byte, ids 0 to 255: "bytes" in a job file.
std::shared_ptr<const Tokenizer> byte_tokenizer();

}  // namespace triax
