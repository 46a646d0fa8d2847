// SPDX-License-Identifier: Apache-2.0
#include "src/config/conversation.hpp"

#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

class Conversations : public testing_support::JobFiles {
 protected:
  std::vector<std::string> keys(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"data.format=chat", "data.tokenizer=" + write("tok/tokenizer.json", "{}")});
    return more;
  }
  std::string wrong(const std::vector<std::string>& more) const { return error("", 1, keys(more)); }
};

TEST_F(Conversations, AreReadFromTheResolvedJob) {
  EXPECT_EQ(conversation_config(load_job(job(), {}, 1).resolved), ConversationConfig());
  EXPECT_EQ(conversation_config("{}"), ConversationConfig());
  EXPECT_EQ(conversation_config(R"({"data": {"format": "text"}})").format, "tokens");
  const std::string file = write("chat.jinja", "{{ messages }}");
  const ConversationConfig read =
      conversation_config(load_job(job(),
                                   keys({R"(data.fields={"messages": "conversations"})",
                                         R"(data.roles={"bot": "assistant"})", "data.train_on=last",
                                         "data.template=" + file, "data.template_date=2026-01-31"}),
                                   1)
                              .resolved);
  EXPECT_EQ(read.format, "chat");
  EXPECT_EQ(read.fields.at("messages"), "conversations");
  EXPECT_EQ(read.roles.at("bot"), "assistant");
  EXPECT_EQ(read.train_on, "last");
  EXPECT_EQ(read.template_file, file);
  EXPECT_EQ(read.template_date, "2026-01-31");
}

TEST_F(Conversations, PackingMasksDocuments) {
  const auto data = [&](std::vector<std::string> more) {
    return load_job(job(), keys(std::move(more)), 1).config.data;
  };
  EXPECT_FALSE(data({}).mask_documents);
  EXPECT_FALSE(data({}).packing);
  EXPECT_TRUE(data({"data.packing=true"}).mask_documents);
  EXPECT_TRUE(data({"data.packing=true"}).packing);
  EXPECT_TRUE(data({"data.documents=mask"}).mask_documents);
  EXPECT_FALSE(data({"data.documents=mask"}).packing);
  EXPECT_THAT(wrong({"data.packing=true", "data.documents=join"}),
              HasSubstr("data.documents: \"join\", but with data.packing"));
  const LoadedJob tokens = load_job(job(), {"data.packing=true"}, 1);
  EXPECT_FALSE(tokens.config.data.packing);
  EXPECT_FALSE(tokens.config.data.mask_documents);
  EXPECT_THAT(tokens.warnings, testing::Contains(HasSubstr("data.packing: has no effect")));
}

TEST_F(Conversations, AFractionOfTheLinesValidates) {
  const std::vector<std::string> split =
      keys({"data.validation_fraction=0.05", "run.eval_interval=10"});
  const LoadedJob read = load_job(job(), split, 1);
  EXPECT_EQ(conversation_config(read.resolved).validation_fraction, 0.05);
  EXPECT_EQ(read.config.run.eval_interval, 10);
  EXPECT_EQ(error("", 1, {"run.eval_interval=10"}),
            error("", 1, {"run.eval_interval=10", "data.validation_fraction=null"}));
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), split.begin(), split.end());
    return error("", 1, more);
  };
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({"run.early_stopping.patience=2", "checkpoint.keep_best=true"}), "");
  EXPECT_THAT(refused({"data.validation_fraction=0"}),
              HasSubstr("data.validation_fraction: 0 is not allowed"));
  EXPECT_THAT(refused({"data.validation_fraction=100"}),
              HasSubstr("data.validation_fraction: 100 is not below 1"));
  EXPECT_THAT(refused({"data.valid=text.txt"}),
              HasSubstr("data.validation_fraction: data.valid names validation files, too"));
  EXPECT_THAT(refused({"run.eval_interval=0"}),
              HasSubstr("data.validation_fraction: lines would be left out of training"));
  EXPECT_THAT(error("", 1, {"data.validation_fraction=0.1", "run.eval_interval=1"}),
              HasSubstr("data.validation_fraction: data.format \"tokens\" has no lines"));
}

TEST_F(Conversations, ATemplateMayBeNamed) {
  const LoadedJob named = load_job(job(), keys({"data.template=chatml"}), 1);
  EXPECT_EQ(conversation_config(named.resolved).template_file, "chatml") << "no file";
  write("chatml", "{{ messages }}");
  const std::string file = path("chatml");
  EXPECT_EQ(conversation_config(load_job(job(), keys({"data.template=" + file}), 1).resolved)
                .template_file,
            file);
  EXPECT_THAT(wrong({"data.template=chatml2"}),
              HasSubstr("data.template: no such file: chatml2. Set it to a file with a chat "
                        "template, or to one of alpaca, chatml, "));
}

TEST_F(Conversations, SlicesOfLines) {
  const ConversationConfig read = conversation_config(
      load_job(job(), keys({"data.train_rows=:90%", "data.valid=text.txt", "data.valid_rows=-5:"}),
               1)
          .resolved);
  EXPECT_EQ(read.train_rows, (RowSlice{{}, 90, true}));
  EXPECT_EQ(read.valid_rows, (RowSlice{-5, {}, false}));
  EXPECT_THAT(wrong({R"(data.train_rows="90")"}), HasSubstr("data.train_rows: \"90\" is no slice"));
  EXPECT_THAT(wrong({"data.valid_rows=:9"}), HasSubstr("data.valid_rows: data.valid is not set"));
  EXPECT_THAT(wrong({R"(data.train=[{"paths": "text.txt", "weight": 1}])", "data.train_rows=:9"}),
              HasSubstr("data.train_rows: data.train has sources with weights"));
  EXPECT_THAT(error("", 1, {"data.train_rows=:9"}),
              HasSubstr("data.train_rows: data.format \"tokens\" has no lines to count"));
}

TEST_F(Conversations, KeysAreChecked) {
  EXPECT_EQ(wrong({}), "");
  EXPECT_THAT(wrong({"data.format=chats"}), HasSubstr("data.format: \"chats\" is not allowed"));
  EXPECT_THAT(wrong({R"(data.fields={"message": "m"})"}),
              HasSubstr("data.fields: \"message\" is no field. Name one of"));
  EXPECT_THAT(wrong({R"(data.roles={"bot": 1})"}),
              HasSubstr("data.roles: its values must be strings"));
  EXPECT_THAT(wrong({"data.template=none.jinja"}),
              HasSubstr("data.template: no such file: none.jinja"));
  EXPECT_THAT(wrong({"data.tokenizer=bytes"}), HasSubstr("needs the model's tokenizer"));
  EXPECT_THAT(error("", 1, {"data.format=completion"}),
              HasSubstr("data.tokenizer: data.format \"completion\" needs the model's tokenizer"));
  const auto warnings = load_job(job(), {"data.train_on=last"}, 1).warnings;
  EXPECT_THAT(
      warnings,
      testing::Contains(HasSubstr("data.train_on: has no effect where data.format is \"tokens\"")));
}

}  // namespace
}  // namespace triax
