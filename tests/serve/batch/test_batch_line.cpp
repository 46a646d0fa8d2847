// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch_line.hpp"

#include <gmock/gmock.h>

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;
using testing::HasSubstr;

TEST(BatchLine, ReadsOpenAIsForm) {
  const BatchLine line = read_batch_line(
      4,
      R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"x","seed":5}})",
      1);
  EXPECT_FALSE(line.error);
  EXPECT_EQ(line.number, 4);
  EXPECT_EQ(line.custom_id, "a");
  EXPECT_EQ(line.url, "/v1/completions");
  EXPECT_EQ(line.body, (json{{"prompt", "x"}, {"seed", 5}}));
}

TEST(BatchLine, ReadsRequestsByThemselves) {
  BatchLine line = read_batch_line(7, R"({"prompt": "x", "max_tokens": 3})", 1);
  EXPECT_EQ(line.custom_id, "line-7");
  EXPECT_EQ(line.url, "/v1/completions");
  EXPECT_EQ(line.body["max_tokens"], 3);
  line = read_batch_line(8, R"({"custom_id": "b", "messages": []})", 1);
  EXPECT_EQ(line.custom_id, "b");
  EXPECT_EQ(line.url, "/v1/chat/completions");
  EXPECT_FALSE(line.body.contains("custom_id"));
  EXPECT_EQ(read_batch_line(9, R"({"input": "x"})", 1).url, "/v1/embeddings");
}

TEST(BatchLine, SeedsDependOnTheIdAlone) {
  const auto seed = [](std::int64_t number, const char* id, std::uint64_t base) {
    const json text = {{"custom_id", id}, {"prompt", "x"}};
    return read_batch_line(number, text.dump(), base).body["seed"].get<std::int64_t>();
  };
  EXPECT_EQ(seed(1, "a", 1), seed(2, "a", 1));
  EXPECT_NE(seed(1, "a", 1), seed(1, "b", 1));
  EXPECT_NE(seed(1, "a", 1), seed(1, "a", 2));
  EXPECT_GE(seed(1, "a", 1), 0);
}

TEST(BatchLine, SaysWhatIsWrong) {
  const auto error = [](const char* text) {
    const BatchLine line = read_batch_line(3, text, 1);
    return line.error ? line.error->what() : std::string("none");
  };
  EXPECT_THAT(error("{"), HasSubstr("not JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(error(R"({"text": "x"})"), HasSubstr("a prompt or messages"));
  EXPECT_THAT(error(R"({"url": "/v1/images", "body": {}})"), HasSubstr("/v1/completions"));
  EXPECT_THAT(error(R"({"url": "/v1/completions"})"), HasSubstr("'body'"));
  EXPECT_THAT(error(R"({"method": "GET", "url": "/v1/completions", "body": {}})"),
              HasSubstr("'method' is GET"));
  EXPECT_THAT(error(R"({"prompt": "x", "stream": true})"), HasSubstr("'stream'"));
  EXPECT_EQ(read_batch_line(3, R"({"custom_id": "q", "url": 1})", 1).custom_id, "q");
}

TEST(BatchLine, WritesAnswers) {
  const json good = json::parse(answer_json(12, "a\"b", {.status = 200, .body = R"({"x":1})"}));
  EXPECT_EQ(good["custom_id"], "a\"b");
  EXPECT_EQ(good["line"], 12);
  EXPECT_EQ(good["response"]["status_code"], 200);
  EXPECT_EQ(good["response"]["body"]["x"], 1);
  EXPECT_EQ(good["error"], nullptr);
  const ApiError wrong = bad_request("no prompt", "prompt");
  const json bad = json::parse(answer_json(12, "a", {.status = 400, .body = wrong.body()}));
  EXPECT_EQ(bad["response"]["body"]["error"]["param"], "prompt");
  EXPECT_EQ(bad["error"]["message"], "line 12: no prompt");
  EXPECT_EQ(bad["error"]["code"], "invalid_request_error");
}

}  // namespace
}  // namespace triax::test
