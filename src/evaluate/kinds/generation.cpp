// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/generation.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/utf8.hpp"
#include "src/text/normalize/normalizer.hpp"

namespace triax {
namespace {

// The text before the first of the stops, each looked for in what the ones before leave.
std::string before_stops(std::string text, const std::vector<std::string>& stops) {
  for (const std::string& stop : stops)
    if (const std::size_t at = stop.empty() ? text.npos : text.find(stop); at != text.npos)
      text.resize(at);
  return text;
}

// Bytes that are no UTF-8 are replaced, as transformers does.
std::string text_of(std::span<const std::int32_t> tokens, const TextEncoder& encoder) {
  std::string text;
  append_repaired(encoder.decode(tokens), text);
  return text;
}

}  // namespace

Generation::Generation(const InputFile& file, const EvaluationTokenizer& tokenizer,
                       std::int64_t length, const GenerationTaskOptions& options,
                       std::int64_t limit)
    : name_(file.path),
      records_(file),
      encoder_(tokenizer),
      length_(length),
      options_(options),
      limit_(limit) {}

bool Generation::next(Item& item) {
  JsonRecord record;
  if ((limit_ > 0 && document_ == limit_) || !records_.next(record)) return false;
  item = {};
  item.where = record.where();
  Prompt prompt;
  prompt.tokens = encoder_.encode(record.text("prompt"));
  prompt.max_tokens = record.has("max_tokens") ? record.integer("max_tokens") : options_.max_tokens;
  if (prompt.max_tokens < 1 || prompt.max_tokens >= length_)
    record.refuse("max_tokens",
                  fmt::format("{} new tokens and a prompt do not fit in a sequence of {} tokens "
                              "(--seq-length)",
                              prompt.max_tokens, length_));
  if (prompt.tokens.empty()) record.refuse("prompt", "it has no tokens");
  const std::vector<std::string> stops =
      record.has("stop") ? record.texts("stop", true) : std::vector<std::string>();
  item.facts["document"] = document_++;
  item.facts["answers"] = record.texts("answer", true);
  item.facts["stop"] = stops;
  if (const std::int64_t most = length_ - prompt.max_tokens; std::ssize(prompt.tokens) > most) {
    prompt.tokens.erase(prompt.tokens.begin(), prompt.tokens.end() - most);
    item.facts["truncated"] = true;
  }
  prompt.ends = [this, stops](std::span<const std::int32_t> tokens) {
    if (tokens.back() == encoder_.tokenizer().tokenizer->end_token()) return true;
    if (stops.empty()) return false;
    const std::string text = text_of(tokens, encoder_);
    return before_stops(text, stops).size() < text.size();
  };
  item.prompt = std::move(prompt);
  return true;
}

std::string Generation::normalized(std::string text) const {
  std::string out;
  if (options_.strip && stripping(true, true)->apply(text, out)) text = std::exchange(out, {});
  if (options_.ignore_case && lowering()->apply(text, out)) text = out;
  return text;
}

nlohmann::ordered_json Generation::score(const Item& item, const Answer& answer) const {
  nlohmann::ordered_json score = item.facts;
  std::string text = text_of(answer.tokens, encoder_);
  text = before_stops(std::move(text), score.at("stop").get<std::vector<std::string>>());
  const auto right = score.at("answers").get<std::vector<std::string>>();
  const std::string found = normalized(text);
  const bool exact =
      std::ranges::any_of(right, [&](const std::string& one) { return normalized(one) == found; });
  score["generated"] = text;
  score["tokens"] = answer.tokens.size();
  score["exact_match"] = exact ? 1 : 0;
  return score;
}

void Generation::add(const nlohmann::ordered_json& score) {
  exact_.add(score.at("exact_match").get<double>());
  truncated_ += score.value("truncated", false) ? 1 : 0;
}

nlohmann::ordered_json Generation::results() const {
  nlohmann::ordered_json results = {{"documents", exact_.count()}, {"truncated", truncated_}};
  exact_.report("exact_match", results);
  return results;
}

}  // namespace triax
