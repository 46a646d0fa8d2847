// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/sentencepiece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "io/files/sha256.hpp"
#include "kernels/base/check.hpp"
#include "src/text/files/protobuf.hpp"
#include "src/text/model/bpe.hpp"
#include "src/text/model/unigram.hpp"
#include "src/text/normalize/sentencepiece.hpp"
#include "src/text/split/make_splitter.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

enum class PieceType : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

struct ModelPiece {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::normal;
};

struct ModelProto {
  std::vector<ModelPiece> pieces;
  std::uint64_t model_type = 1;  // unigram
  bool byte_fallback = false, suffix_blank = false;
  std::int32_t begin = 1, end = 2;
  SentencePieceRules rules;
};

ModelPiece piece_of(std::string_view message, const std::string& place) {
  ModelPiece piece;
  ProtobufReader reader(message, place);
  while (const auto field = reader.next()) {
    if (field->number == 1) piece.text = field->bytes;
    if (field->number == 2) piece.score = field->real();
    if (field->number == 3) {
      if (field->value < 1 || field->value > 6)
        throw UsageError(fmt::format("{}: a piece has type {}", place, field->value),
                         "types are 1 to 6", "Fetch the file again");
      piece.type = static_cast<PieceType>(field->value);
    }
  }
  return piece;
}

void read_trainer(std::string_view message, const std::string& place, ModelProto& model) {
  ProtobufReader reader(message, place);
  while (const auto field = reader.next()) {
    if (field->number == 3) model.model_type = field->value;
    if (field->number == 24) model.suffix_blank = field->value != 0;
    if (field->number == 35) model.byte_fallback = field->value != 0;
    if (field->number == 41) model.begin = static_cast<std::int32_t>(field->value);
    if (field->number == 42) model.end = static_cast<std::int32_t>(field->value);
  }
}

void read_normalizer(std::string_view message, const std::string& place, ModelProto& model) {
  ProtobufReader reader(message, place);
  while (const auto field = reader.next()) {
    if (field->number == 2) model.rules.charsmap = field->bytes;
    if (field->number == 3) model.rules.add_dummy_prefix = field->value != 0;
    if (field->number == 4) model.rules.remove_extra_whitespaces = field->value != 0;
    if (field->number == 5) model.rules.escape_whitespaces = field->value != 0;
  }
}

ModelProto read_model(std::string_view text, const std::string& place) {
  ModelProto model;
  ProtobufReader reader(text, place);
  while (const auto field = reader.next()) {
    if (field->number == 1) model.pieces.push_back(piece_of(field->bytes, place));
    if (field->number == 2) read_trainer(field->bytes, place, model);
    if (field->number == 3) read_normalizer(field->bytes, place, model);
  }
  if (model.pieces.empty() || static_cast<std::int64_t>(model.pieces.size()) > most_tokens)
    throw UsageError(place + " is no tokenizer of a known format",
                     "it is neither JSON, nor a rank file of tiktoken, nor a SentencePiece model",
                     "Name a tokenizer's file, or its directory");
  if (model.suffix_blank)
    throw UsageError(place + ": trainer_spec.treat_whitespace_as_suffix is not supported");
  return model;
}

std::int32_t unknown_of(const ModelProto& model) {
  const auto at = std::ranges::find(model.pieces, PieceType::unknown, &ModelPiece::type);
  return at == model.pieces.end() ? -1 : static_cast<std::int32_t>(at - model.pieces.begin());
}

Vocabulary vocabulary_of(const ModelProto& model) {
  Vocabulary vocabulary;
  vocabulary.reserve(model.pieces.size());
  for (std::size_t i = 0; i < model.pieces.size(); ++i)
    vocabulary.add(model.pieces[i].text, static_cast<std::int32_t>(i));
  return vocabulary;
}

// Merges of a piece: every way to cut it into two pieces. `rank` is the place of its score.
void add_merges(BpeParts& parts, const ModelProto& model, std::int32_t id, std::uint32_t rank,
                std::vector<std::pair<std::pair<std::int32_t, std::int32_t>, Merge>>& merges) {
  const std::string_view text = model.pieces[static_cast<std::size_t>(id)].text;
  const auto symbol = [&](std::string_view part) {
    const std::int32_t found = parts.vocabulary.find(part);
    if (found < 0) return found;
    return model.pieces[static_cast<std::size_t>(found)].type == PieceType::normal ? found : -1;
  };
  for (std::size_t n = 0; n < text.size();) {
    n += code_point_at(text.data() + n, text.data() + text.size()).bytes;
    if (n >= text.size()) break;
    const std::int32_t left = symbol(text.substr(0, n)), right = symbol(text.substr(n));
    if (left >= 0 && right >= 0) merges.push_back({{left, right}, {rank, id}});
  }
}

std::unique_ptr<const Model> bpe_of(const ModelProto& model, const std::string& place) {
  BpeParts parts;
  parts.vocabulary = vocabulary_of(model);
  parts.unk = unknown_of(model);
  parts.fuse_unk = true;
  parts.byte_fallback = model.byte_fallback;
  parts.cut_before_blank = true;
  std::map<float, std::uint32_t, std::greater<>> ranks;  // equal scores, equal ranks
  for (const ModelPiece& piece : model.pieces) ranks[piece.score] = 0;
  std::uint32_t next = 0;
  for (auto& [score, rank] : ranks) rank = next++;
  std::vector<std::pair<std::pair<std::int32_t, std::int32_t>, Merge>> merges;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const ModelPiece& piece = model.pieces[i];
    if (piece.type == PieceType::unused)
      throw UsageError(
          fmt::format("{}: piece {} is unused, which is not supported for BPE", place, i));
    if (piece.type != PieceType::normal) continue;
    parts.cut_before_blank = parts.cut_before_blank && !has_blank_inside(piece.text);
    add_merges(parts, model, static_cast<std::int32_t>(i), ranks[piece.score], merges);
  }
  parts.merges = PairTable(merges.size());
  for (const auto& [pair, merge] : merges) parts.merges.add(pair.first, pair.second, merge);
  return make_bpe(std::move(parts));
}

std::unique_ptr<const Model> unigram_of(const ModelProto& model) {
  UnigramParts parts;
  parts.vocabulary = vocabulary_of(model);
  parts.unk = unknown_of(model);
  parts.byte_fallback = model.byte_fallback;
  parts.single = true;
  float least = std::numeric_limits<float>::max();
  for (const ModelPiece& piece : model.pieces) {
    if (piece.type == PieceType::normal) least = std::min(least, piece.score);
  }
  for (const ModelPiece& piece : model.pieces) {
    const bool user = piece.type == PieceType::user_defined;
    parts.usable.push_back(user || piece.type == PieceType::normal);
    // sentencepiece: length x FLT_MIN - 0.1, above any other way to cut the text.
    parts.scores.push_back(user ? -0.1F : piece.score);
  }
  parts.least = least;
  return make_unigram(std::move(parts));
}

void add_special_pieces(const ModelProto& model, PipelineParts& parts) {
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const ModelPiece& piece = model.pieces[i];
    AddedToken token{.content = std::string(piece.text), .id = static_cast<std::int32_t>(i)};
    token.special = piece.type == PieceType::control || piece.type == PieceType::unknown;
    if (token.special)
      parts.added.push_back(std::move(token));
    else if (piece.type == PieceType::user_defined && model.model_type == 2)
      parts.in_normalized.push_back(std::move(token));
  }
}

void add_decoder(const ModelProto& model, PipelineParts& parts) {
  parts.decode_steps.push_back(replacing_in_tokens(literal_splitter(std::string(blank_mark)), " "));
  if (model.byte_fallback) parts.decode_steps.push_back(bytes_from_fallback());
  parts.decode_steps.push_back(fusing());
  const std::size_t all = ~std::size_t{0};
  if (model.rules.add_dummy_prefix || model.rules.remove_extra_whitespaces)
    parts.decode_steps.push_back(
        stripping_tokens(" ", model.rules.remove_extra_whitespaces ? all : 1, 0));
}

}  // namespace

PipelineParts parse_sentencepiece(std::string_view text, const std::string& place,
                                  const TokenizerConfig& config) {
  const ModelProto model = read_model(text, place);
  PipelineParts parts;
  if (model.model_type == 1)
    parts.model = unigram_of(model);
  else if (model.model_type == 2)
    parts.model = bpe_of(model, place);
  else
    throw UsageError(
        fmt::format("{}: trainer_spec.model_type {} is not known", place, model.model_type),
        "1 (unigram) and 2 (BPE) are", "Use a model of one of these");
  parts.normalizers.push_back(sentencepiece_normalizer(model.rules, place));
  add_special_pieces(model, parts);
  add_decoder(model, parts);
  const auto known = [&](std::int32_t id) {
    return id >= 0 && id < parts.model->vocabulary().size();
  };
  if (config.add_begin && known(model.begin)) parts.before.push_back(model.begin);
  if (config.add_end && known(model.end)) parts.after.push_back(model.end);
  if (known(model.end)) parts.end = parts.model->vocabulary().text(model.end);
  parts.fingerprint = sha256_of(text);
  return parts;
}

}  // namespace triax
