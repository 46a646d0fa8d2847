// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr const char* green = "\x1b[32m";
constexpr const char* usual = "\x1b[0m";

std::string text_of(const Tokenizer* tokenizer, std::int32_t id) {
  const std::array<std::int32_t, 1> one = {id};
  return tokenizer == nullptr ? std::string() : tokenizer->decode(one, false);
}

std::string dumped(const ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::size_t trained(const ShownSample& sample) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sample.labels, [](std::int32_t label) { return label >= 0; }));
}

// Number of equal tokens at the end that do not train, if there are several.
std::size_t filled(const ShownSample& sample) {
  std::size_t count = 0;
  for (std::size_t i = sample.ids.size(); i-- > 0; ++count)
    if (sample.ids[i] != sample.ids.back() || sample.labels[i] >= 0) break;
  return count < 3 ? 0 : count;
}

// The document of each token, and its position in it. Without documents all tokens are of document
// 0.
struct DocumentPlace {
  std::int64_t document = 0, position = -1;
  void step(const ShownSample& sample, std::size_t i) {
    const bool begins = i > 0 && !sample.starts.empty() && sample.starts[i] != 0;
    if (begins) ++document;
    position = begins ? 0 : position + 1;
  }
};

ordered_json json_of(const ShownSample& sample, const Tokenizer* tokenizer) {
  ordered_json tokens = ordered_json::array();
  DocumentPlace place;
  for (std::size_t i = 0; i < sample.ids.size(); ++i) {
    place.step(sample, i);
    ordered_json token = {
        {"position", place.position}, {"id", sample.ids[i]}, {"trains", sample.labels[i] >= 0}};
    if (!sample.starts.empty()) token["document"] = place.document;
    if (tokenizer != nullptr) token["text"] = text_of(tokenizer, sample.ids[i]);
    tokens.push_back(std::move(token));
  }
  return {{"sample", sample.number},
          {"samples", sample.samples},
          {"trained", trained(sample)},
          {"tokens", tokens}};
}

}  // namespace

std::string sample_text(const ShownSample& sample, const Tokenizer* tokenizer, ShowStyle style) {
  if (style == ShowStyle::json) return dumped(json_of(sample, tokenizer), 1) + "\n";
  const std::size_t fill = filled(sample), shown = sample.ids.size() - fill;
  std::string text = fmt::format("sample {} (an epoch has {}): {} tokens, {} train\n",
                                 sample.number, sample.samples, shown, trained(sample));
  DocumentPlace place;
  if (!sample.starts.empty())
    text += fmt::format("{:>6} {:>8} {:>8} {:>8}\n", "number", "id", "document", "position");
  for (std::size_t i = 0; i < shown; ++i) {
    place.step(sample, i);
    const bool trains = sample.labels[i] >= 0;
    const std::string line = fmt::format(
        "{:>6} {:>8}{} {} {}", i, sample.ids[i],
        sample.starts.empty() ? "" : fmt::format(" {:>8} {:>8}", place.document, place.position),
        trains ? '*' : ' ', tokenizer ? dumped(text_of(tokenizer, sample.ids[i])) : "");
    const bool colored = trains && style == ShowStyle::color;
    text += fmt::format("{}{}{}\n", colored ? green : "", line, colored ? usual : "");
  }
  if (fill > 0) text += fmt::format("{} tokens of id {} fill the row\n", fill, sample.ids.back());
  return text;
}

std::string pair_text(const ShownSample& pair, const Tokenizer* tokenizer, ShowStyle style) {
  const std::size_t row = pair.ids.size() / 2;
  const auto half = [&](std::size_t begin) {
    return ShownSample{pair.number, pair.samples, pair.ids.subspan(begin, row),
                       pair.labels.subspan(begin, row)};
  };
  const ShownSample chosen = half(0), rejected = half(row);
  if (style == ShowStyle::json)
    return dumped(
               {{"chosen", json_of(chosen, tokenizer)}, {"rejected", json_of(rejected, tokenizer)}},
               1) +
           "\n";
  return "chosen answer of " + sample_text(chosen, tokenizer, style) + "rejected answer of " +
         sample_text(rejected, tokenizer, style);
}

}  // namespace triax
