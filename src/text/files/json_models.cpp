// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/json_models.hpp"

#include "src/text/model/bpe.hpp"
#include "src/text/model/unigram.hpp"

namespace triax {
namespace {

std::int32_t token_of(const Vocabulary& vocabulary, const std::string& text, bool byte_level) {
  if (!byte_level) return vocabulary.find(text);
  const auto bytes = bytes_of_alphabet(text);
  return bytes ? vocabulary.find(*bytes) : -1;
}

Vocabulary vocabulary_of(const TokenizerDocument& document, bool byte_level) {
  Vocabulary vocabulary;
  vocabulary.reserve(document.vocab.size());
  for (const auto& [text, id] : document.vocab) {
    const auto bytes = byte_level ? bytes_of_alphabet(text) : std::optional(text);
    vocabulary.add(bytes ? *bytes : text, id, bytes.has_value());
  }
  return vocabulary;
}

void add_merges(BpeParts& parts, const TokenizerDocument& document, const std::string& place) {
  parts.merges = PairTable(document.merges.size());
  parts.cut_before_blank = !parts.byte_level && !parts.ignore_merges;
  std::string text;
  for (std::size_t rank = 0; rank < document.merges.size(); ++rank) {
    const auto& [left, right] = document.merges[rank];
    const std::int32_t a = token_of(parts.vocabulary, left, parts.byte_level);
    const std::int32_t b = token_of(parts.vocabulary, right, parts.byte_level);
    text.assign(left).append(right);
    const std::int32_t both = token_of(parts.vocabulary, text, parts.byte_level);
    if (a < 0 || b < 0 || both < 0)
      throw UsageError(fmt::format("{}.merges[{}]: \"{}\" is not in the vocabulary", place, rank,
                                   a < 0 ? left : (b < 0 ? right : text)),
                       {}, "Check that vocabulary and merges are of the same tokenizer");
    parts.merges.add(a, b, {static_cast<std::uint32_t>(rank), both});
    parts.cut_before_blank = parts.cut_before_blank && !has_blank_inside(text);
  }
}

std::unique_ptr<const Model> bpe(JsonPart& part, const TokenizerDocument& document,
                                 bool byte_level) {
  BpeParts parts;
  parts.byte_level = byte_level;
  parts.fuse_unk = part.flag("fuse_unk", false);
  parts.byte_fallback = part.flag("byte_fallback", false);
  parts.ignore_merges = part.flag("ignore_merges", false);
  part.ignore("dropout");
  if (part.has("dropout") && part.value("dropout") != 0)
    throw UsageError(part.place() + ".dropout is set", "ids would be random", "Set it to null");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!part.text_if_any(key).value_or("").empty()) throw part.unknown(key, "null");
  parts.vocabulary = vocabulary_of(document, byte_level);
  if (const auto unk = part.text_if_any("unk_token")) {
    parts.unk = token_of(parts.vocabulary, *unk, byte_level);
    if (parts.unk < 0) throw part.unknown("unk_token", "the tokens of vocab");
  }
  add_merges(parts, document, part.place());
  return make_bpe(std::move(parts));
}

// vocab: [[piece, score], ..] in the order of ids.
std::unique_ptr<const Model> unigram(JsonPart& part) {
  UnigramParts parts;
  parts.byte_fallback = part.flag("byte_fallback", false);
  const nlohmann::json& vocab = part.value("vocab");
  if (!vocab.is_array()) throw UsageError(part.place() + ".vocab is not an array");
  for (const nlohmann::json& entry : vocab) {
    const auto id = static_cast<std::int32_t>(parts.scores.size());
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      throw UsageError(fmt::format("{}.vocab[{}] is not [piece, score]", part.place(), id));
    parts.vocabulary.add(entry[0].get<std::string>(), id);
    parts.scores.push_back(entry[1].get<double>());
  }
  parts.usable.assign(parts.scores.size(), true);
  part.ignore("unk_id");
  if (part.has("unk_id"))
    parts.unk = static_cast<std::int32_t>(
        part.number("unk_id", 0, static_cast<std::int64_t>(parts.scores.size()) - 1));
  return make_unigram(std::move(parts));
}

}  // namespace

std::unique_ptr<const Model> json_model(JsonPart& root, const TokenizerDocument& document,
                                        bool byte_level) {
  JsonPart part = root.part("model");
  // Files of old versions name no type.
  const std::string type = part.text_if_any("type").value_or(document.merges.empty() ? "" : "BPE");
  if (type != "BPE" && type != "Unigram") throw part.unknown("type", "BPE, Unigram");
  auto model = type == "BPE" ? bpe(part, document, byte_level) : unigram(part);
  part.done();
  return model;
}

}  // namespace triax
