// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tekken.hpp"

#include <array>

#include "io/files/sha256.hpp"
#include "src/text/files/json_part.hpp"
#include "src/text/model/byte_ranks.hpp"
#include "src/text/split/make_splitter.hpp"

namespace triax {
namespace {

// Special tokens of files that name none (before v7).
constexpr std::array<const char*, 20> first_specials = {"<unk>",
                                                        "<s>",
                                                        "</s>",
                                                        "[INST]",
                                                        "[/INST]",
                                                        "[AVAILABLE_TOOLS]",
                                                        "[/AVAILABLE_TOOLS]",
                                                        "[TOOL_RESULTS]",
                                                        "[/TOOL_RESULTS]",
                                                        "[TOOL_CALLS]",
                                                        "[IMG]",
                                                        "<pad>",
                                                        "[IMG_BREAK]",
                                                        "[IMG_END]",
                                                        "[PREFIX]",
                                                        "[MIDDLE]",
                                                        "[SUFFIX]",
                                                        "[SYSTEM_PROMPT]",
                                                        "[/SYSTEM_PROMPT]",
                                                        "[TOOL_CONTENT]"};

std::vector<AddedToken> specials_of(JsonPart& root, std::int32_t count) {
  std::vector<AddedToken> tokens;
  for (JsonPart& part : root.parts("special_tokens")) {
    AddedToken token;
    token.id = static_cast<std::int32_t>(part.number("rank", 0, count - 1));
    token.content = part.text("token_str");
    token.special = true;
    part.ignore("is_control");
    part.done();
    tokens.push_back(std::move(token));
  }
  if (tokens.empty())
    for (std::size_t i = 0; i < first_specials.size(); ++i)
      tokens.push_back(
          {.content = first_specials[i], .id = static_cast<std::int32_t>(i), .special = true});
  std::vector<bool> named(static_cast<std::size_t>(count));
  for (const AddedToken& token : tokens) named[static_cast<std::size_t>(token.id)] = true;
  for (std::int32_t id = 0; id < count; ++id)
    if (!named[static_cast<std::size_t>(id)])
      tokens.push_back({.content = fmt::format("<SPECIAL_{}>", id), .id = id, .special = true});
  return tokens;
}

ByteRanks ranks_of(JsonPart& root, std::int32_t first_id, std::int64_t count) {
  ByteRanks ranks;
  ranks.first_id = first_id;
  std::int64_t left = count;
  for (JsonPart& part : root.parts("vocab")) {
    if (left-- == 0) break;
    const std::int64_t rank = part.number("rank", 0, count - 1);
    const auto bytes = from_base64(part.text("token_bytes"));
    part.ignore("token_str");
    part.done();
    if (!bytes || bytes->empty()) throw part.unknown("token_bytes", "base64");
    ranks.tokens.emplace_back(*bytes, static_cast<std::int32_t>(rank));
  }
  return ranks;
}

}  // namespace

PipelineParts parse_tekken(std::string_view text, const std::string& place) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw UsageError(place + " is not JSON", {}, "Fetch the file again");
  JsonPart root(json, place + ":");
  JsonPart config = root.part("config");
  const auto specials = config.number("default_num_special_tokens", 0, most_tokens);
  const auto size = config.number("default_vocab_size", specials + 1, most_tokens);
  const std::string pattern = config.text("pattern");
  for (const char* key : {"num_vocab_tokens", "version"}) config.ignore(key);
  config.done();
  PipelineParts parts;
  const auto first = static_cast<std::int32_t>(specials);
  parts.added = specials_of(root, first);
  parts.model = make_rank_bpe(ranks_of(root, first, size - specials));
  parts.byte_level = true;
  parts.steps.push_back(splitting(make_splitter(pattern, config.place() + ".pattern"),
                                  SplitBehavior::isolated, false));
  // Images and sound do not come from text.
  for (const char* key : {"image", "multimodal", "audio", "type", "version"}) root.ignore(key);
  root.done();
  parts.end = "</s>";
  for (const AddedToken& token : parts.added)
    if (token.content == "<s>") parts.before.push_back(token.id);
  parts.fingerprint = sha256_of(text);
  return parts;
}

}  // namespace triax
