// SPDX-License-Identifier: Apache-2.0
// Parts that work on ids and tokens: post-processors and decoders.
#include "src/text/files/json_parts.hpp"
#include "src/text/model/vocabulary.hpp"

namespace triax {
namespace {

std::vector<std::int32_t> ids_of(JsonPart& names, const std::string& name) {
  JsonPart part = names.part(name);
  part.ignore("id");
  part.ignore("tokens");
  std::vector<std::int32_t> ids;
  for (const nlohmann::json& id : part.value("ids")) ids.push_back(id.get<std::int32_t>());
  return ids;
}

// {"single": [{"SpecialToken": {"id": ..}}, {"Sequence": {"id": "A"}}]}
void add_template(JsonPart& part, std::vector<std::int32_t>& before,
                  std::vector<std::int32_t>& after) {
  part.ignore("pair");  // pairs of texts are not encoded here
  JsonPart names = part.part("special_tokens");
  bool text_seen = false;
  std::vector<std::int32_t> first;
  for (JsonPart& item : part.parts("single")) {
    if (item.has("Sequence")) {
      JsonPart sequence = item.part("Sequence");
      if (sequence.text("id") != "A" || text_seen) throw sequence.unknown("id", "A, once");
      text_seen = true;
      continue;
    }
    const std::vector<std::int32_t> ids = ids_of(names, item.part("SpecialToken").text("id"));
    std::vector<std::int32_t>& list = text_seen ? after : first;
    list.insert(list.end(), ids.begin(), ids.end());
  }
  if (!text_seen) throw part.unknown("single", "a list with a Sequence of id A");
  before.insert(before.begin(), first.begin(), first.end());
}

// RobertaProcessing and BertProcessing: {"sep": ["</s>", 2], "cls": ["<s>", 0]}.
void add_ends(JsonPart& part, std::vector<std::int32_t>& before, std::vector<std::int32_t>& after) {
  part.ignore("trim_offsets");
  part.ignore("add_prefix_space");
  const auto id_of = [&](const char* key) {
    const nlohmann::json& pair = part.value(key);
    if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_unsigned())
      throw part.unknown(key, "[token, id]");
    return pair[1].get<std::int32_t>();
  };
  before.insert(before.begin(), id_of("cls"));
  after.push_back(id_of("sep"));
}

std::unique_ptr<const DecodeStep> decode_step(JsonPart& part, const std::string& type) {
  if (type == "ByteLevel") {
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"}) part.ignore(key);
    return bytes_from_alphabet();
  }
  if (type == "ByteFallback") return bytes_from_fallback();
  if (type == "Fuse") return fusing();
  if (type == "Replace") {
    auto pattern = part.pattern("pattern");
    return replacing_in_tokens(std::move(pattern), part.text("content"));
  }
  if (type == "Strip") {
    std::string content = part.text("content");
    const auto start = static_cast<std::size_t>(part.number("start", 0, 1 << 20));
    const auto stop = static_cast<std::size_t>(part.number("stop", 0, 1 << 20));
    return stripping_tokens(std::move(content), start, stop);
  }
  if (type == "Metaspace") {
    const std::string mark = part.text("replacement");
    for (const char* key : {"str_rep", "split"}) part.ignore(key);
    const bool prefix = part.flag("add_prefix_space", true);
    const std::string scheme =
        part.text_if_any("prepend_scheme").value_or(prefix ? "always" : "never");
    return spaces_from_marks(mark, scheme != "never");
  }
  throw part.unknown("type", "ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, Sequence");
}

}  // namespace

void json_post_processor(JsonPart& root, std::vector<std::int32_t>& before,
                         std::vector<std::int32_t>& after) {
  each_json_part(root, "post_processor", "processors",
                 [&](JsonPart& part, const std::string& type) {
                   if (type == "ByteLevel") {  // changes offsets only
                     for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"})
                       part.ignore(key);
                   } else if (type == "TemplateProcessing") {
                     add_template(part, before, after);
                   } else if (type == "RobertaProcessing" || type == "BertProcessing") {
                     add_ends(part, before, after);
                   } else {
                     throw part.unknown("type",
                                        "ByteLevel, TemplateProcessing, RobertaProcessing, "
                                        "BertProcessing, Sequence");
                   }
                 });
}

DecodeSteps json_decoder(JsonPart& root, bool byte_level) {
  DecodeSteps steps;
  bool bytes_only = byte_level;
  each_json_part(root, "decoder", "decoders", [&](JsonPart& part, const std::string& type) {
    bytes_only = bytes_only && type == "ByteLevel" && steps.empty();
    steps.push_back(decode_step(part, type));
  });
  if (steps.empty()) steps.push_back(spacing());
  if (bytes_only && root.has("decoder")) steps.clear();
  return steps;
}

}  // namespace triax
