// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tokenizer_json.hpp"

#include "io/files/sha256.hpp"
#include "src/text/files/json_models.hpp"
#include "src/text/files/json_parts.hpp"
#include "src/text/files/tokenizer_document.hpp"

namespace triax {
namespace {

std::vector<AddedToken> added_tokens(JsonPart& root) {
  std::vector<AddedToken> tokens;
  for (JsonPart& part : root.parts("added_tokens")) {
    AddedToken token;
    token.id = static_cast<std::int32_t>(part.number("id", 0, most_tokens - 1));
    token.content = part.text("content");
    token.single_word = part.flag("single_word", false);
    token.lstrip = part.flag("lstrip", false);
    token.rstrip = part.flag("rstrip", false);
    token.normalized = part.flag("normalized", true);
    token.special = part.flag("special", false);
    part.done();
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// Everything that decides ids: all but the decoder and the state of a program.
std::string fingerprint_of(const TokenizerDocument& document) {
  Sha256 hash;
  nlohmann::json rest = document.rest;
  for (const char* key : {"truncation", "padding", "decoder", "version"}) rest.erase(key);
  hash.add(rest.dump());
  std::string line;
  for (const auto& [text, id] : document.vocab) {
    line.assign(text).append(1, '\0').append(std::to_string(id)).append(1, '\n');
    hash.add(line);
  }
  for (const auto& [left, right] : document.merges) {
    line.assign(left).append(1, '\0').append(right).append(1, '\n');
    hash.add(line);
  }
  return hash.hex();
}

// An added token whose text the model knows under another id would have two ids.
void check_added(const PipelineParts& parts, const std::string& place) {
  for (const AddedToken& token : parts.added) {
    const auto text = parts.byte_level ? bytes_of_alphabet(token.content) : token.content;
    const std::int32_t id = text ? parts.model->vocabulary().find(*text) : -1;
    if (id >= 0 && id != token.id)
      throw UsageError(
          fmt::format("{}: added token \"{}\" has id {}", place, token.content, token.id),
          fmt::format("it is token {} of the model", id), "Give it one id");
  }
}

}  // namespace

PipelineParts parse_tokenizer_json(std::string_view text, const std::string& place) {
  TokenizerDocument document = read_tokenizer_document(text, place);
  JsonPart root(document.rest, place + ":");
  for (const char* key : {"version", "truncation", "padding"}) root.ignore(key);
  PipelineParts parts;
  parts.fingerprint = fingerprint_of(document);
  parts.added = added_tokens(root);
  parts.normalizers = json_normalizers(root);
  PreTokenizerParts pre = json_pre_tokenizer(root);
  parts.steps = std::move(pre.steps);
  parts.byte_level = pre.byte_level;
  json_post_processor(root, parts.before, parts.after);
  parts.decode_steps = json_decoder(root, parts.byte_level);
  parts.model = json_model(root, document, parts.byte_level);
  root.done();
  check_added(parts, place);
  return parts;
}

}  // namespace triax
