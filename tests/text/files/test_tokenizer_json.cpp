// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tokenizer_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/error_of.hpp"

namespace triax {
namespace {

using nlohmann::json;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

json small_file() {
  return {{"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}}};
}

std::vector<std::int32_t> ids_of(const json& file, const std::string& text) {
  const auto tokenizer = make_pipeline(parse_tokenizer_json(file.dump(), "t.json"));
  std::vector<std::int32_t> ids;
  tokenizer->encoder()->encode(text, {}, ids);
  return ids;
}

std::string refusal(const json& file) {
  return error_of([&] { parse_tokenizer_json(file.dump(), "t.json"); });
}

TEST(TokenizerJson, TakesMergesAsStringsAndAsPairs) {
  json file = small_file();
  EXPECT_EQ(ids_of(file, "aab"), (std::vector<std::int32_t>{0, 2}));
  const auto print = parse_tokenizer_json(file.dump(), "t").fingerprint;
  file["model"]["merges"] = json::array({json::array({"a", "b"})});
  EXPECT_EQ(ids_of(file, "aab"), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(parse_tokenizer_json(file.dump(), "t").fingerprint, print);
  file["truncation"] = {{"max_length", 1}};  // state of a program
  EXPECT_EQ(ids_of(file, "aab").size(), 2U);
}

TEST(TokenizerJson, RefusesUnknownPartsByName) {
  const auto with = [](const char* pointer, json value) {
    json file = small_file();
    file[json::json_pointer(pointer)] = std::move(value);
    return refusal(file);
  };
  EXPECT_THAT(with("/normalizer", {{"type", "Odd"}}),
              AllOf(HasSubstr("t.json:.normalizer.type \"Odd\" is not known"), HasSubstr("NFC")));
  EXPECT_THAT(with("/pre_tokenizer/odd", 1), HasSubstr("pre_tokenizer.odd is not known"));
  EXPECT_THAT(with("/pre_tokenizer/use_regex", "yes"), HasSubstr("use_regex is not true or false"));
  EXPECT_THAT(with("/decoder", {{"type", "Odd"}}), HasSubstr("decoder.type \"Odd\""));
  EXPECT_THAT(with("/post_processor", {{"type", "Odd"}}), HasSubstr("post_processor.type \"Odd\""));
  EXPECT_THAT(with("/model/type", "WordPiece"), HasSubstr("model.type \"WordPiece\""));
  EXPECT_THAT(with("/model/odd", true), HasSubstr("model.odd is not known"));
  EXPECT_THAT(with("/model/dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(with("/model/merges/0", "a b c"), HasSubstr("is not two tokens"));
  EXPECT_THAT(with("/model/merges/0", "a c"), HasSubstr("\"c\" is not in the vocabulary"));
  EXPECT_THAT(with("/model/vocab/ab", -1), HasSubstr("id -1"));
  EXPECT_THAT(with("/odd", 1), HasSubstr("t.json:.odd is not known"));
  EXPECT_THAT(error_of([] { parse_tokenizer_json("{\"model\"", "t.json"); }),
              HasSubstr("t.json is not JSON"));
}

TEST(TokenizerJson, AnAddedTokenHasOneId) {
  json file = small_file();
  file["added_tokens"].push_back({{"id", 7}, {"content", "ab"}});
  EXPECT_THAT(refusal(file), HasSubstr("it is token 2 of the model"));
}

}  // namespace
}  // namespace triax
