// SPDX-License-Identifier: Apache-2.0
#include "src/text/decode/decoder.hpp"

#include "kernels/base/utf8.hpp"
#include "src/text/model/vocabulary.hpp"
#include "src/text/normalize/normalizer.hpp"
#include "src/text/split/make_splitter.hpp"

namespace triax {
namespace {

std::string joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

class BytesFromAlphabet final : public DecodeStep {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens)
      if (auto bytes = bytes_of_alphabet(token)) token = std::move(*bytes);
  }
};

class ReplacingInTokens final : public DecodeStep {
 public:
  ReplacingInTokens(std::shared_ptr<const Splitter> pattern, std::string content)
      : replacing_(replacing(std::move(pattern), std::move(content))) {}
  void apply(std::vector<std::string>& tokens) const override {
    std::string out;
    for (std::string& token : tokens) {
      out.clear();
      if (replacing_->apply(token, out)) token = out;
    }
  }

 private:
  std::unique_ptr<const Normalizer> replacing_;
};

class BytesFromFallback final : public DecodeStep {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string run;
    const auto close = [&] {
      if (run.empty()) return;
      if (is_utf8(run))
        out.push_back(run);
      else
        out.insert(out.end(), run.size(), std::string(replacement_character));
      run.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byte_of_token(token); byte >= 0) {
        run.push_back(static_cast<char>(byte));
        continue;
      }
      close();
      out.push_back(std::move(token));
    }
    close();
    tokens = std::move(out);
  }
};

class Fusing final : public DecodeStep {
 public:
  void apply(std::vector<std::string>& tokens) const override { tokens = {joined(tokens)}; }
};

class StrippingTokens final : public DecodeStep {
 public:
  StrippingTokens(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      for (std::size_t i = 0; i < start_ && token.starts_with(content_); ++i)
        token.erase(0, content_.size());
      for (std::size_t i = 0; i < stop_ && token.ends_with(content_); ++i)
        token.resize(token.size() - content_.size());
    }
  }

 private:
  std::string content_;
  std::size_t start_, stop_;
};

class SpacesFromMarks final : public DecodeStep {
 public:
  SpacesFromMarks(const std::string& mark, bool prepended)
      : vanishing_(literal_splitter(mark), ""),
        spaces_(literal_splitter(mark), " "),
        prepended_(prepended) {}
  void apply(std::vector<std::string>& tokens) const override {
    if (tokens.empty()) return;
    if (prepended_) {
      std::vector<std::string> first = {std::move(tokens.front())};
      vanishing_.apply(first);
      tokens.front() = std::move(first.front());
    }
    spaces_.apply(tokens);
  }

 private:
  ReplacingInTokens vanishing_, spaces_;
  bool prepended_;
};

class Spacing final : public DecodeStep {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
  }
};

}  // namespace

std::unique_ptr<const DecodeStep> bytes_from_alphabet() {
  return std::make_unique<BytesFromAlphabet>();
}
std::unique_ptr<const DecodeStep> replacing_in_tokens(std::shared_ptr<const Splitter> pattern,
                                                      std::string content) {
  return std::make_unique<ReplacingInTokens>(std::move(pattern), std::move(content));
}
std::unique_ptr<const DecodeStep> bytes_from_fallback() {
  return std::make_unique<BytesFromFallback>();
}
std::unique_ptr<const DecodeStep> fusing() {
  return std::make_unique<Fusing>();
}
std::unique_ptr<const DecodeStep> stripping_tokens(std::string content, std::size_t start,
                                                   std::size_t stop) {
  return std::make_unique<StrippingTokens>(std::move(content), start, stop);
}
std::unique_ptr<const DecodeStep> spaces_from_marks(const std::string& mark, bool prepended) {
  return std::make_unique<SpacesFromMarks>(mark, prepended);
}
std::unique_ptr<const DecodeStep> spacing() {
  return std::make_unique<Spacing>();
}

}  // namespace triax
