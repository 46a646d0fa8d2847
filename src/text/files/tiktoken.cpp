// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tiktoken.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "io/files/sha256.hpp"
#include "kernels/base/check.hpp"
#include "src/text/model/byte_ranks.hpp"
#include "src/text/normalize/compose.hpp"
#include "src/text/split/families.hpp"
#include "src/text/split/make_splitter.hpp"

namespace triax {
namespace {

using Specials = std::vector<AddedToken>;

void add(Specials& specials, std::string content, std::int32_t id) {
  specials.push_back({.content = std::move(content), .id = id, .special = true});
}

Specials r50k() {
  return {{.content = "<|endoftext|>", .id = 50256, .special = true}};
}

Specials cl100k() {
  Specials specials;
  add(specials, "<|endoftext|>", 100257);
  add(specials, "<|fim_prefix|>", 100258);
  add(specials, "<|fim_middle|>", 100259);
  add(specials, "<|fim_suffix|>", 100260);
  add(specials, "<|endofprompt|>", 100276);
  return specials;
}

Specials o200k() {
  Specials specials;
  add(specials, "<|endoftext|>", 199999);
  add(specials, "<|endofprompt|>", 200018);
  return specials;
}

Specials llama3() {
  Specials specials;
  constexpr std::int32_t first = 128000;
  for (const char* name : {"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>",
                           "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>",
                           "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>",
                           "<|eot_id|>", "<|python_tag|>", "<|image|>"})
    add(specials, name, first + static_cast<std::int32_t>(specials.size()));
  for (std::int32_t i = 2; specials.size() < 256; ++i)
    add(specials, fmt::format("<|reserved_special_token_{}|>", i),
        first + static_cast<std::int32_t>(specials.size()));
  return specials;
}

Specials qwen() {
  Specials specials;
  constexpr std::int32_t first = 151643;
  for (const char* name : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"})
    add(specials, name, first + static_cast<std::int32_t>(specials.size()));
  for (int i = 0; i < 205; ++i)
    add(specials, fmt::format("<|extra_{}|>", i),
        first + static_cast<std::int32_t>(specials.size()));
  return specials;
}

struct Row {
  std::string_view sha256;
  std::string_view pattern;
  Specials (*specials)();
  std::string_view begin, end;  // of texts
  bool composed;                // text is normalized to NFC
};

constexpr std::string_view end_of_text = "<|endoftext|>";
constexpr std::array rows = {
    Row{"306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", r50k_pattern, r50k, "",
        end_of_text, false},
    Row{"94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", r50k_pattern, r50k, "",
        end_of_text, false},
    Row{"223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", cl100k_pattern, cl100k,
        "", end_of_text, false},
    Row{"446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", o200k_pattern, o200k,
        "", end_of_text, false},
    Row{"82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55", llama3_pattern, llama3,
        "<|begin_of_text|>", "<|end_of_text|>", false},
    Row{"b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186", qwen2_pattern, qwen, "",
        end_of_text, true},
};

const Row& row_of(const std::string& digest, const std::string& place) {
  for (const Row& row : rows)
    if (row.sha256 == digest) return row;
  throw UsageError(place + " is a rank file of tiktoken that is not known",
                   "its pattern and special tokens are in the code of its model, not in the file",
                   "Use the tokenizer.json of the model");
}

ByteRanks ranks_of(std::string_view text, const std::string& place) {
  ByteRanks ranks;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    if (line.empty()) continue;
    const std::size_t blank = line.find(' ');
    const auto bytes = from_base64(line.substr(0, blank));
    std::int32_t rank = -1;
    if (blank != line.npos)
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), rank);
    if (!bytes || bytes->empty() || rank < 0 || rank >= most_tokens)
      throw UsageError(fmt::format("{}:{}: not \"base64 rank\"", place, number), {},
                       "Fetch the file again");
    ranks.tokens.emplace_back(*bytes, rank);
  }
  return ranks;
}

}  // namespace

bool is_tiktoken(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t blank = line.find(' ');
  if (blank == 0 || blank == line.npos || !from_base64(line.substr(0, blank))) return false;
  return line.find_first_not_of("0123456789\r", blank + 1) == line.npos;
}

PipelineParts parse_tiktoken(std::string_view text, const std::string& place) {
  PipelineParts parts;
  parts.fingerprint = sha256_of(text);
  const Row& row = row_of(parts.fingerprint, place);
  parts.model = make_rank_bpe(ranks_of(text, place));
  parts.byte_level = true;
  parts.added = row.specials();
  if (row.composed) parts.normalizers.push_back(normal_form(NormalForm::nfc));
  parts.steps.push_back(
      splitting(make_splitter(std::string(row.pattern), place), SplitBehavior::isolated, false));
  for (const AddedToken& token : parts.added)
    if (token.content == row.begin) parts.before.push_back(token.id);
  parts.end = row.end;
  return parts;
}

}  // namespace triax
