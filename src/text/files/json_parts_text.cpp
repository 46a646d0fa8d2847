// SPDX-License-Identifier: Apache-2.0
// Parts that change text before the model: normalizers and pre-tokenizers.
#include <array>

#include "src/text/files/json_parts.hpp"
#include "src/text/normalize/compose.hpp"
#include "src/text/split/families.hpp"
#include "src/text/split/make_splitter.hpp"

namespace triax {
namespace {

std::unique_ptr<const Normalizer> normalizer_of(JsonPart& part, const std::string& type) {
  if (type == "NFC") return normal_form(NormalForm::nfc);
  if (type == "NFD") return normal_form(NormalForm::nfd);
  if (type == "NFKC") return normal_form(NormalForm::nfkc);
  if (type == "NFKD") return normal_form(NormalForm::nfkd);
  if (type == "Lowercase") return lowering();
  if (type == "Prepend") return prepending(part.text("prepend"));
  if (type == "Strip") {
    const bool left = part.flag("strip_left", true);
    return stripping(left, part.flag("strip_right", true));
  }
  if (type == "Replace") {
    auto pattern = part.pattern("pattern");
    return replacing(std::move(pattern), part.text("content"));
  }
  throw part.unknown("type", "NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Strip, Replace, Sequence");
}

SplitBehavior behavior_of(JsonPart& part) {
  struct Row {
    const char* name;
    SplitBehavior behavior;
  };
  constexpr std::array<Row, 5> rows = {{{"Removed", SplitBehavior::removed},
                                        {"Isolated", SplitBehavior::isolated},
                                        {"MergedWithPrevious", SplitBehavior::merged_with_previous},
                                        {"MergedWithNext", SplitBehavior::merged_with_next},
                                        {"Contiguous", SplitBehavior::contiguous}}};
  const std::string name = part.text("behavior");
  for (const Row& row : rows)
    if (name == row.name) return row.behavior;
  throw part.unknown("behavior",
                     "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

void add_byte_level(JsonPart& part, PreTokenizerParts& parts) {
  part.ignore("trim_offsets");
  if (part.flag("add_prefix_space", true)) parts.steps.push_back(prefix_spaces());
  if (part.flag("use_regex", true))
    parts.steps.push_back(splitting(make_splitter(std::string(gpt2_pattern), part.place()),
                                    SplitBehavior::isolated, false));
  parts.byte_level = true;
}

void add_metaspace(JsonPart& part, PreTokenizerParts& parts) {
  const std::string mark = part.text("replacement");
  part.ignore("str_rep");  // written by old versions beside it
  // Before prepend_scheme there was add_prefix_space.
  const bool prefix = part.flag("add_prefix_space", true);
  const std::string scheme =
      part.text_if_any("prepend_scheme").value_or(prefix ? "always" : "never");
  const bool split = part.flag("split", true);
  if (scheme != "always" && scheme != "first" && scheme != "never")
    throw part.unknown("prepend_scheme", "always, first, never");
  parts.steps.push_back(metaspace(mark,
                                  scheme == "always"  ? PrependScheme::always
                                  : scheme == "first" ? PrependScheme::first
                                                      : PrependScheme::never,
                                  split));
}

void add_step(JsonPart& part, const std::string& type, PreTokenizerParts& parts) {
  const auto add = [&](const char* pattern, SplitBehavior behavior) {
    parts.steps.push_back(splitting(make_splitter(pattern, part.place()), behavior, false));
  };
  if (parts.byte_level)
    throw UsageError(fmt::format("{} comes after ByteLevel", part.place()),
                     "text is bytes from there on", "Put ByteLevel last");
  if (type == "ByteLevel") return add_byte_level(part, parts);
  if (type == "Metaspace") return add_metaspace(part, parts);
  if (type == "WhitespaceSplit") return add(R"(\s+)", SplitBehavior::removed);
  if (type == "Digits")
    return add(part.flag("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)",
               SplitBehavior::isolated);
  if (type != "Split")
    throw part.unknown("type", "ByteLevel, Metaspace, Split, Digits, WhitespaceSplit, Sequence");
  auto pattern = part.pattern("pattern");
  const SplitBehavior behavior = behavior_of(part);
  parts.steps.push_back(splitting(std::move(pattern), behavior, part.flag("invert", false)));
}

}  // namespace

Normalizers json_normalizers(JsonPart& root) {
  Normalizers normalizers;
  each_json_part(root, "normalizer", "normalizers", [&](JsonPart& part, const std::string& type) {
    normalizers.push_back(normalizer_of(part, type));
  });
  return normalizers;
}

PreTokenizerParts json_pre_tokenizer(JsonPart& root) {
  PreTokenizerParts parts;
  each_json_part(root, "pre_tokenizer", "pretokenizers",
                 [&](JsonPart& part, const std::string& type) { add_step(part, type, parts); });
  return parts;
}

}  // namespace triax
