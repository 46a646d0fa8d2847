// SPDX-License-Identifier: Apache-2.0
#include "src/text/pipeline.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

class Pipeline final : public Tokenizer {
 public:
  explicit Pipeline(PipelineParts parts) : parts_(std::move(parts)) {
    std::vector<AddedToken> raw, normalized_ones;
    std::string a, b;
    vocabulary_ = parts_.model->vocabulary().size();
    for (const AddedToken& token : parts_.added) {
      vocabulary_ = std::max(vocabulary_, token.id + 1);
      added_.emplace(token.id, token);
      added_ids_.emplace(token.content, token.id);
      AddedToken& kept = (token.normalized ? normalized_ones : raw).emplace_back(token);
      if (token.normalized) kept.content = normalized(token.content, parts_.normalizers, a, b);
      decoded_.emplace(token.id, kept.content);
    }
    normalized_ones.insert(normalized_ones.end(), parts_.in_normalized.begin(),
                           parts_.in_normalized.end());
    raw_ = AddedTokenFinder(std::move(raw));
    normalized_ = AddedTokenFinder(std::move(normalized_ones));
    if (!parts_.end.empty())
      end_ = id_of(parts_.end);
    else if (parts_.end_id && !token(*parts_.end_id).empty())
      end_ = parts_.end_id;
  }

  std::unique_ptr<Encoder> encoder() const override;

  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const override {
    std::string text;
    std::vector<std::string> tokens;
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= vocabulary_)
        throw UsageError(fmt::format("{} is not a token of this tokenizer", id),
                         fmt::format("its ids are 0 to {}", vocabulary_ - 1),
                         "Decode with the tokenizer that made the ids");
      const auto added = added_.find(id);
      if (added != added_.end() && added->second.special && skip_special_tokens) continue;
      if (!parts_.decode_steps.empty())
        tokens.push_back(added != added_.end() ? decoded_.at(id) : token(id));
      else if (added != added_.end())
        text += decoded_.at(id);
      else
        text += parts_.model->vocabulary().text(id);
    }
    for (const auto& step : parts_.decode_steps) step->apply(tokens);
    for (const std::string& token : tokens) text += token;
    return text;
  }

  std::int32_t vocabulary() const override { return vocabulary_; }

  std::string token(std::int32_t id) const override {
    if (const auto added = added_.find(id); added != added_.end()) return added->second.content;
    const std::string_view text = parts_.model->vocabulary().text(id);
    return parts_.byte_level ? in_byte_alphabet(text) : std::string(text);
  }

  std::optional<std::int32_t> id_of(std::string_view token) const override {
    if (const auto added = added_ids_.find(std::string(token)); added != added_ids_.end())
      return added->second;
    std::optional<std::string> text(token);
    if (parts_.byte_level) text = bytes_of_alphabet(token);
    const std::int32_t id = text ? parts_.model->vocabulary().find(*text) : -1;
    return id < 0 ? std::nullopt : std::optional(id);
  }

  std::optional<std::int32_t> end_token() const override { return end_; }
  const std::string& fingerprint() const override { return parts_.fingerprint; }

  const PipelineParts& parts() const { return parts_; }
  const AddedTokenFinder& raw() const { return raw_; }
  const AddedTokenFinder& in_normalized() const { return normalized_; }

 private:
  PipelineParts parts_;
  std::int32_t vocabulary_ = 0;
  std::optional<std::int32_t> end_;
  std::unordered_map<std::int32_t, AddedToken> added_;
  std::unordered_map<std::int32_t, std::string> decoded_;  // text of an added token in decode()
  std::unordered_map<std::string, std::int32_t> added_ids_;
  AddedTokenFinder raw_, normalized_;
};

class PipelineEncoder final : public Tokenizer::Encoder {
 public:
  explicit PipelineEncoder(const Pipeline& pipeline)
      : pipeline_(pipeline), session_(pipeline.parts().model->session()) {
    const auto& steps = pipeline.parts().steps;
    if (steps.size() == 1) only_ = steps.front()->isolating();
  }

  void encode(std::string_view text, const EncodeOptions& options,
              std::vector<std::int32_t>& ids) override {
    const PipelineParts& parts = pipeline_.parts();
    const bool special = options.special_tokens_in_text;
    const auto add_token = [&](std::int32_t id) { ids.push_back(id); };
    if (options.add_special_tokens) ids.insert(ids.end(), parts.before.begin(), parts.before.end());
    pipeline_.raw().cut(
        text, special,
        [&](std::string_view part, std::size_t offset) {
          const std::string_view form = normalized(part, parts.normalizers, a_, b_);
          pipeline_.in_normalized().cut(
              form, special,
              [&](std::string_view rest, std::size_t at) {
                encode_rest(rest, offset == 0 && at == 0, ids);
              },
              add_token);
        },
        add_token);
    if (options.add_special_tokens) ids.insert(ids.end(), parts.after.begin(), parts.after.end());
  }

 private:
  static constexpr std::size_t batch = 1024;  // pieces between splitter and model

  void encode_rest(std::string_view text, bool first, std::vector<std::int32_t>& ids) {
    if (only_ != nullptr) {
      for (std::size_t at = 0; at < text.size();) {
        cuts_.clear();
        const std::size_t begin = at;
        at = only_->split(text, at, batch, cuts_);
        session_->encode(text, begin, cuts_, ids);
      }
      return;
    }
    pieces_.rewritten.clear();
    pieces_.list.assign(1, TextPiece{text, first});
    for (const auto& step : pipeline_.parts().steps) step->apply(pieces_);
    for (const TextPiece& piece : pieces_.list) {
      const Cut whole{piece.text.size(), true};
      if (whole.end > 0) session_->encode(piece.text, 0, {&whole, 1}, ids);
    }
  }

  const Pipeline& pipeline_;
  std::unique_ptr<Model::Session> session_;
  const Splitter* only_ = nullptr;  // of the only step: pieces go to the model in batches
  std::string a_, b_;               // normalized text
  std::vector<Cut> cuts_;
  Pieces pieces_;
};

std::unique_ptr<Tokenizer::Encoder> Pipeline::encoder() const {
  return std::make_unique<PipelineEncoder>(*this);
}

}  // namespace

std::shared_ptr<const Tokenizer> make_pipeline(PipelineParts parts) {
  return std::make_shared<Pipeline>(std::move(parts));
}

}  // namespace triax
