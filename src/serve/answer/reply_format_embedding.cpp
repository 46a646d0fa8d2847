// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>

#include "src/serve/answer/reply_format.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

std::vector<float> of_length_one(std::vector<float> vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * x;
  if (squares == 0) return vector;
  for (float& x : vector) x = static_cast<float>(x / std::sqrt(squares));
  return vector;
}

std::string base64(const std::vector<float>& vector) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (const float x : vector)
    for (unsigned shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(std::bit_cast<std::uint32_t>(x) >> shift & 0xFFU);
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < count; ++i)
      three |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i]))
               << (16 - 8 * i);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= count ? digits[three >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

class EmbeddingFormat : public ReplyFormat {
 public:
  EmbeddingFormat(Pooling pooling, bool base64) : pooling_(pooling), base64_(base64) {}
  const char* route() const override { return "/v1/embeddings"; }
  const char* id_prefix() const override { return "embd-"; }
  const char* object(bool) const override { return "list"; }
  const char* list() const override { return "data"; }
  ordered_json opening(std::int64_t) const override { return nullptr; }
  ordered_json choice(std::int64_t index, const AnswerDelta& delta, bool) const override {
    const std::vector<float> vector = of_length_one(delta.embedding);
    return {{"object", "embedding"},
            {"index", index},
            {"embedding", base64_ ? ordered_json(base64(vector)) : ordered_json(vector)},
            {"pooling", pooling_ == Pooling::mean ? "mean" : "last"}};
  }

 private:
  Pooling pooling_;
  bool base64_;
};

}  // namespace

std::unique_ptr<const ReplyFormat> embedding_format(Pooling pooling, bool base64) {
  return std::make_unique<EmbeddingFormat>(pooling, base64);
}

}  // namespace triax
