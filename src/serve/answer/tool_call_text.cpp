// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/tool_call_text.hpp"

#include <algorithm>
#include <string_view>

#include "kernels/random/random.hpp"

namespace triax {
namespace {

constexpr const char* blanks = " \t\r\n";

// Nine letters and digits: templates of Mistral take no other ids.
std::string id_of(std::uint64_t key, std::size_t number) {
  constexpr std::string_view digits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::uint64_t left = mix_key(key, number);
  std::string id;
  for (int i = 0; i < 9; ++i, left /= digits.size()) id += digits[left % digits.size()];
  return id;
}

// Bytes at the end of `text` that may begin `mark`.
std::size_t begun(std::string_view text, std::string_view mark) {
  for (std::size_t size = std::min(text.size(), mark.size() - 1); size > 0; --size)
    if (text.ends_with(mark.substr(0, size))) return size;
  return 0;
}

}  // namespace

ToolCallText::Piece ToolCallText::next(const std::string& text) {
  held_ += text;
  Piece piece;
  while (advance(false, piece)) {
  }
  return piece;
}

ToolCallText::Piece ToolCallText::rest() {
  Piece piece;
  while (advance(true, piece)) {
  }
  return piece;
}

bool ToolCallText::advance(bool at_end, Piece& piece) {
  switch (where_) {
    case Where::content:
      return find_begin(at_end, piece);
    case Where::call:
      return find_end(at_end, piece);
    case Where::content_alone:
      give(held_.size(), piece);
  }
  return false;
}

// Content of the held text's first bytes.
void ToolCallText::give(std::size_t bytes, Piece& piece) {
  piece.content += held_.substr(0, bytes);
  held_.erase(0, bytes);
}

bool ToolCallText::find_begin(bool at_end, Piece& piece) {
  const ToolForm& form = *tools_.form;
  std::size_t found = held_.npos, may_begin = 0;
  for (const char* mark : form.begins) {
    found = std::min(found, held_.find(mark));
    may_begin = std::max(may_begin, begun(held_, mark));
  }
  const std::size_t text = std::min(held_.find_first_not_of(blanks), held_.size());
  if (form.first && text < held_.size() && found != text && may_begin < held_.size() - text) {
    where_ = Where::content_alone;
    return true;
  }
  if (found != held_.npos) {
    const std::size_t last = held_.find_last_not_of(blanks, found == 0 ? 0 : found - 1);
    const std::size_t content = found == 0 || last == held_.npos ? 0 : last + 1;
    give(content, piece);
    blanks_ = held_.substr(0, found - content);
    held_.erase(0, blanks_.size());
    where_ = Where::call;
    return true;
  }
  if (at_end) {
    if (count_ == 0 || text < held_.size()) give(held_.size(), piece);
    held_.clear();
    return false;
  }
  const std::size_t sure = held_.size() - may_begin;
  const std::size_t last = sure == 0 ? held_.npos : held_.find_last_not_of(blanks, sure - 1);
  give(last == held_.npos ? 0 : last + 1, piece);
  return false;
}

bool ToolCallText::find_end(bool at_end, Piece& piece) {
  const std::string_view mark = tools_.form->ends;
  const std::size_t found = mark.empty() ? held_.npos : held_.find(mark);
  if (found == held_.npos && !at_end) return false;
  const std::size_t end = found == held_.npos ? held_.size() : found + mark.size();
  if (take_calls(held_.substr(0, end), piece)) {
    held_.erase(0, end);
  } else {
    piece.content += blanks_;
    give(end, piece);
  }
  where_ = Where::content;
  if (tools_.form->first) where_ = Where::content_alone;
  return true;
}

bool ToolCallText::take_calls(const std::string& text, Piece& piece) {
  const auto calls = tools_.form->read(text);
  if (!calls) return false;
  for (const WrittenCall& call : *calls)
    if (!tools_.has(call.name)) return false;
  for (const WrittenCall& call : *calls) {
    if (count_ > 0 && !tools_.parallel) break;
    piece.calls.push_back({count_, id_of(key_, count_), call.name, call.arguments});
    ++count_;
  }
  return true;
}

}  // namespace triax
