// SPDX-License-Identifier: Apache-2.0
#include "src/text/text_stream.hpp"

namespace triax {
namespace {

constexpr std::size_t longest = 4;  // tokens of a character: its bytes

}  // namespace

std::string TextStream::next(std::int32_t id) {
  ids_.push_back(id);
  return emit(false);
}

std::string TextStream::rest() {
  return emit(true);
}

std::string TextStream::emit(bool at_end) {
  const std::span<const std::int32_t> ids = ids_;
  const std::string before = tokenizer_->decode(ids.first(emitted_), skip_special_tokens_);
  std::string text = tokenizer_->decode(ids, skip_special_tokens_);
  if (!at_end && ids.size() - emitted_ < longest && text.ends_with("\xEF\xBF\xBD")) return {};
  // Bytes that are no character also change how those before them are decoded.
  text = text.starts_with(before) ? text.substr(before.size())
                                  : tokenizer_->decode(ids.subspan(emitted_), skip_special_tokens_);
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(emitted_));
  emitted_ = ids_.size();
  return text;
}

}  // namespace triax
