// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/sample_encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/chat/chat_files.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

constexpr int long_row = 1 << 20;
const std::vector<std::string> chatml = {"<|im_start|>", "<|im_end|>"};

void expect_equal(const ChatContext& context, const ordered_json& line,
                  const ordered_json& expected) {
  const auto ids = expected.at("ids").get<std::vector<std::int32_t>>();
  const auto mask = expected.at("mask").get<std::vector<int>>();
  const auto sample = SampleEncoder(context).encode(line);
  ASSERT_EQ(!sample.empty(), std::ranges::count(mask, 1) > 0);
  if (sample.empty()) return;
  EXPECT_EQ(sample.front().ids, ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(sample.front().labels[i], mask[i] == 1 ? ids[i] : -100) << "token " << i;
}

// Ids and masks that transformers makes: apply_chat_template(return_assistant_tokens_mask=True).
TEST(SampleEncoder, AgreesWithTransformers) {
  const ordered_json golden = golden_json("templates/masks.json");
  const ordered_json all = golden_json("templates/conversations.json").at("conversations");
  const auto marks = golden.at("marks").get<std::vector<std::string>>();
  for (const auto& [tokenizer, templates] : golden.at("tokenizers").items())
    for (const auto& [name, cases] : templates.items()) {
      const ChatContext context =
          chat_context(chat_files(tokenizer, marks, golden_text("templates/" + name + ".jinja")),
                       chat_config(), long_row);
      for (const auto& [number, expected] : cases.items()) {
        ordered_json line = all.at(std::stoul(number));
        if (line.contains("variables")) line["chat_template_kwargs"] = line.at("variables");
        SCOPED_TRACE(tokenizer + ", " + name + ", " + number);
        expect_equal(context, line, expected);
      }
    }
}

ordered_json line_of(const std::vector<std::pair<std::string, std::string>>& messages) {
  ordered_json line = {{"messages", ordered_json::array()}};
  for (const auto& [role, content] : messages)
    line["messages"].push_back({{"role", role}, {"content", content}});
  return line;
}

const ordered_json two_turns =
    line_of({{"user", "a"}, {"assistant", "one"}, {"user", "b"}, {"assistant", "two"}});

ChatContext context_of(const std::string& name, const ConversationConfig& config,
                       int length = long_row, const std::vector<std::string>& special = chatml) {
  return chat_context(chat_files("qwen2", special, golden_text("templates/" + name + ".jinja")),
                      config, length);
}

std::string trained_of(const ChatContext& context, const ordered_json& line) {
  const auto sample = SampleEncoder(context).encode(line);
  std::string text;
  for (const ChatSample& row : sample)
    text += (text.empty() ? "" : " / ") + trained_text(context, row);
  return sample.empty() ? "nothing" : text;
}

TEST(SampleEncoder, TurnsAreFoundWithTheirEnds) {
  EXPECT_EQ(trained_of(context_of("chatml", chat_config()), two_turns),
            "one<|im_end|>|two<|im_end|>");
  EXPECT_EQ(trained_of(context_of("qwen2.5", chat_config()), two_turns),
            "one<|im_end|>|two<|im_end|>");
  const std::vector<std::string> special = {"<start_of_turn>", "<end_of_turn>", "</s>", "<|end|>",
                                            "[/INST]"};
  const auto trained = [&](const char* name) {
    return trained_of(context_of(name, chat_config(), long_row, special), two_turns);
  };
  EXPECT_EQ(trained("gemma"), "one<end_of_turn>|two<end_of_turn>");
  EXPECT_EQ(trained("mistral-v3"), " one</s>| two</s>");
  EXPECT_EQ(trained("zephyr"), "one</s>|two</s>");
  EXPECT_EQ(trained("olmo2"), "one</s>|two</s>");
  EXPECT_EQ(trained("phi-3"), "one<|end|>|two<|end|>");
}

// The template takes thoughts out of earlier turns: a shorter conversation is no prefix.
TEST(SampleEncoder, TurnsWithoutThoughtsAreFound) {
  const ordered_json line = line_of({{"user", "a"},
                                     {"assistant", "<think>\nwhy\n</think>\n\none"},
                                     {"user", "b"},
                                     {"assistant", "<think>\nso\n</think>\n\ntwo"}});
  EXPECT_EQ(trained_of(context_of("qwen3", chat_config()), line),
            "one<|im_end|>|<think>\nso\n</think>\n\ntwo<|im_end|>");
}

TEST(SampleEncoder, TrainsOnAllOrOnTheLast) {
  ConversationConfig config = chat_config();
  config.train_on = "last";
  EXPECT_EQ(trained_of(context_of("chatml", config), two_turns), "two<|im_end|>");
  EXPECT_EQ(trained_of(context_of("chatml-marked", config), two_turns), "two<|im_end|>");
  config.train_on = "all";
  EXPECT_EQ(
      trained_of(context_of("chatml", config), two_turns),
      "user\na<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n<|im_start|>user\nb<|im_end|>\n"
      "<|im_start|>assistant\ntwo<|im_end|>\n");
}

TEST(SampleEncoder, LongSamplesAreCutAndCounted) {
  const ChatContext whole = context_of("chatml", chat_config());
  const auto length = static_cast<int>(SampleEncoder(whole).encode(two_turns).front().ids.size());
  const ChatContext shorter = context_of("chatml", chat_config(), length - 4);
  SampleEncoder encoder(shorter);
  const auto sample = encoder.encode(two_turns);
  EXPECT_EQ(sample.front().ids.size(), static_cast<std::size_t>(length - 4));
  EXPECT_EQ(encoder.counts().cut, 1);
  EXPECT_EQ(encoder.counts().cut_answers, 1);
  const ChatContext tiny = context_of("chatml", chat_config(), 3);
  SampleEncoder drops(tiny);
  EXPECT_TRUE(drops.encode(two_turns).empty());
  EXPECT_TRUE(drops.encode(line_of({{"user", "a"}})).empty());
  EXPECT_EQ(drops.counts().without_answer, 2);
  EXPECT_EQ(drops.counts().cut_answers, 2);
  EXPECT_EQ(drops.counts().samples, 0);
}

TEST(SampleEncoder, PromptsAndAnswersAreEncodedApart) {
  ConversationConfig config = chat_config();
  config.format = "completion";
  const ChatContext context = chat_context(chat_files("qwen2", {"</s>"}, ""), config, long_row);
  EXPECT_EQ(trained_of(context, {{"prompt", "2+2="}, {"completion", "4"}}), "4</s>");
  const auto sample =
      SampleEncoder(context).encode({{"prompt", "</s>he"}, {"completion", "llo</s>"}});
  EXPECT_EQ(trained_text(context, sample.front()), "llo</s></s>");
  const std::int32_t end = *context.tokenizer.tokenizer->end_token();
  EXPECT_EQ(std::ranges::count(sample.front().ids, end), 1) << "texts name no special tokens";
  EXPECT_EQ(sample.front().ids.back(), end);
  config.format = "instruction";
  const ChatContext alpaca = chat_context(chat_files("qwen2", {"</s>"}, ""), config, long_row);
  EXPECT_EQ(trained_of(alpaca, {{"instruction", "add"}, {"input", "1 2"}, {"output", "3"}}),
            "3</s>");
}

// A tokenizer that composes characters: parts of the text are encoded one by one.
TEST(SampleEncoder, ChangedTextsAreEncodedInParts) {
  const ChatContext context = context_of("chatml", chat_config());
  SampleEncoder encoder(context);
  const auto sample =
      encoder.encode(line_of({{"user", "e\u0301e\u0301"}, {"assistant", "o\u0308"}}));
  EXPECT_EQ(trained_text(context, sample.front()), "\u00f6<|im_end|>");
  EXPECT_EQ(encoder.counts().seams, 1);
}

TEST(SampleEncoder, PairsTrainTheirAnswersAlone) {
  ConversationConfig config = chat_config();
  config.format = "preference";
  const auto answer = [](const char* text) {
    return line_of({{"assistant", text}}).at("messages");
  };
  const ordered_json line = {
      {"prompt", line_of({{"user", "a"}, {"assistant", "one"}, {"user", "b"}}).at("messages")},
      {"chosen", answer("two")},
      {"rejected", answer("2")}};
  for (const char* name : {"chatml", "chatml-marked"})
    EXPECT_EQ(trained_of(context_of(name, config), line), "two<|im_end|> / 2<|im_end|>") << name;
  const ordered_json texts = {{"prompt", "2+2="}, {"chosen", "4"}, {"rejected", "5"}};
  const std::vector<std::string> with_end = {"<|im_start|>", "<|im_end|>", "</s>"};
  EXPECT_EQ(trained_of(context_of("chatml", config, long_row, with_end), texts), "4</s> / 5</s>");
  const ChatContext plain = chat_context(chat_files("qwen2", {"</s>"}, ""), config, long_row);
  EXPECT_EQ(trained_of(plain, texts), "4</s> / 5</s>");
  EXPECT_THAT(error_of([&] { (void)SampleEncoder(plain).encode(line); }),
              HasSubstr("the tokenizer has no chat template"));
}

// Both rows are left out where one has no answer: a pair is never torn.
TEST(SampleEncoder, APairWithoutOneAnswerIsDropped) {
  ConversationConfig config = chat_config();
  config.format = "preference";
  const ordered_json texts = {{"prompt", "aaaa"}, {"chosen", "b"}, {"rejected", "c"}};
  const ChatContext whole = chat_context(chat_files("qwen2", {"</s>"}, ""), config, long_row);
  const auto rows = SampleEncoder(whole).encode(texts);
  ASSERT_EQ(rows.size(), 2U);
  const auto prompt = static_cast<int>(
      std::ranges::count_if(rows.front().labels, [](std::int32_t label) { return label < 0; }));
  const ChatContext shorter = chat_context(chat_files("qwen2", {"</s>"}, ""), config, prompt);
  SampleEncoder encoder(shorter);
  EXPECT_TRUE(encoder.encode(texts).empty());
  EXPECT_EQ(encoder.counts().without_answer, 1);
  EXPECT_EQ(encoder.counts().samples, 0);
  EXPECT_EQ(encoder.counts().tokens, 0);
}

TEST(SampleEncoder, RefusesWithTheCause) {
  const auto refused = [](const ChatContext& context, const ordered_json& line) {
    return error_of([&] { (void)SampleEncoder(context).encode(line); });
  };
  EXPECT_THAT(
      refused(context_of("gemma", chat_config()), line_of({{"system", "s"}, {"user", "a"}})),
      HasSubstr("System role not supported"));
  EXPECT_THAT(refused(context_of("chatml", chat_config()), {{"text", "a"}}),
              HasSubstr("no field \"messages\""));
  EXPECT_THAT(error_of([] { (void)chat_context(chat_files("qwen2", {}, ""), chat_config(), 8); }),
              HasSubstr("has no chat template"));
  ConversationConfig undated = chat_config();
  undated.template_date.clear();
  EXPECT_NO_THROW((void)context_of("chatml", undated));
  EXPECT_THAT(error_of([&] { (void)context_of("llama-3.2", undated); }),
              HasSubstr("the chat template writes the date (it calls strftime_now). Set "
                        "data.template_date"));
}

}  // namespace
}  // namespace triax::test
