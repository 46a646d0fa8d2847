// SPDX-License-Identifier: Apache-2.0
// Malformed requests and dropped connections leave the server serving. Many more of them with
// TRIAX_TEST_LONG.
#include <gtest/gtest.h>

#include <random>

#include "tests/serve/served_bytes.hpp"

namespace triax::test {
namespace {

class Fuzzer {
 public:
  explicit Fuzzer(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }

  std::string request() {
    const std::string body = damaged(bodies_[below(std::size(bodies_))]);
    std::string text = std::string(methods_[below(std::size(methods_))]) + " " +
                       paths_[below(std::size(paths_))] + " HTTP/1.1\r\nHost: localhost\r\n" +
                       "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    return below(2) == 0 ? text : damaged(std::move(text));
  }

 private:
  std::string damaged(std::string text) {
    for (std::size_t n = below(4); n > 0 && !text.empty(); --n) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = static_cast<char>(random_());
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text.insert(at, 1 + below(5), "0{[\"\\-e9,:\x80\r\n"[below(13)]);
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), 20));
          break;
        default:
          text.resize(at);
      }
    }
    return text;
  }

  static constexpr const char* methods_[] = {"POST", "POST", "POST", "GET", "HEAD", "PUT"};
  static constexpr const char* paths_[] = {"/v1/completions", "/v1/completions", "/tokenize",
                                           "/detokenize",     "/v1/models/%",    "/health"};
  static constexpr const char* bodies_[] = {
      R"({"prompt": "abc", "max_tokens": 7, "n": 2, "stop": ["b"], "stream": true})",
      R"({"prompt": [1, 2, 3], "max_tokens": 3, "logprobs": 3, "echo": true, "seed": -7})",
      R"({"prompt": ["a", "bb"], "temperature": 0.5, "logit_bias": {"3": 1.5}, "top_p": 0.9})",
      R"({"prompt": "\ud83d\ude00", "min_tokens": 2, "stop_token_ids": [4], "user": null})",
      R"({"tokens": [1, 2, 300], "model": "bytes", "n": 1e300})",
  };
  std::mt19937_64 random_;
};

TEST(Fuzz, MalformedRequestsAndDroppedConnectionsLeaveItServing) {
  const bool many = std::getenv("TRIAX_TEST_LONG") != nullptr;
  ServedBytes server;
  Fuzzer fuzzer(35);
  const int rounds = many ? 20000 : 600;
  int replies = 0;
  for (int i = 0; i < rounds; ++i) {
    HttpClient client(server.port());
    ASSERT_TRUE(client.connected()) << "round " << i;
    const std::string request = fuzzer.request();
    client.send(request);
    if (fuzzer.below(10) == 0) continue;  // dropped before the reply
    client.patience = 10;                 // what is not whole gets no reply
    replies += client.reply().status > 0 ? 1 : 0;
  }
  EXPECT_GT(replies, rounds / 4);
  EXPECT_TRUE(comes_true([&] { return server.metric("triax_requests_running") == "0"; }));
  const ClientReply reply = server.post("/v1/completions", {{"prompt", "abc"}, {"max_tokens", 3}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["choices"][0]["text"], "abc");
}

}  // namespace
}  // namespace triax::test
