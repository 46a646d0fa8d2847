// SPDX-License-Identifier: Apache-2.0
#include "src/serve/generation/engine_loop.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "src/serve/generation/metrics.hpp"
#include "tests/serve/fake_engine.hpp"

namespace triax::test {
namespace {

GenerationRequest request_of(std::uint64_t id, const std::string& prompt, std::int64_t tokens) {
  GenerationRequest request;
  request.id = id;
  request.prompt = bytes_of(prompt);
  request.max_tokens = tokens;
  return request;
}

TEST(EngineLoop, AnswersUntilItIsStopped) {
  FakeEngine engine;
  std::string text;
  std::vector<std::uint64_t> refused;
  EngineLoop loop(engine, [&](const StepReport& report) {
    for (const auto& [id, why] : report.refused) refused.push_back(id);
    for (const GenerationOutput& output : report.outputs) {
      for (const TokenLikelihood& token : output.tokens) text += static_cast<char>(token.token);
      if (output.finished) loop.stop();
    }
  });
  loop.submit(request_of(1, std::string(100, 'x'), 1));
  loop.submit(request_of(2, "ab", 5));
  loop.run();
  EXPECT_EQ(text, "ababa");
  EXPECT_EQ(refused, std::vector<std::uint64_t>{1});
}

TEST(EngineLoop, CancelsBetweenSteps) {
  FakeEngine engine;
  int outputs = 0;
  EngineLoop loop(engine, [&](const StepReport& report) {
    outputs += static_cast<int>(report.outputs.size());
    if (outputs == 3) loop.cancel(7);
    if (engine.cancelled == 1) loop.stop();
  });
  loop.submit(request_of(7, "ab", 1000));
  loop.run();
  EXPECT_EQ(outputs, 3);
}

TEST(EngineLoop, EndsByWhatTheEngineThrows) {
  FakeEngine engine;
  engine.broken = true;
  EngineLoop loop(engine, [](const StepReport&) {});
  loop.submit(request_of(1, "a", 1));
  EXPECT_THROW(loop.run(), Error);
}

TEST(Metrics, ArePrometheusText) {
  Metrics metrics;
  metrics.first_token.add(0.003);
  metrics.first_token.add(100);
  metrics.engine.cache_blocks = 4;
  metrics.engine.free_cache_blocks = 1;
  metrics.replies[{"/health", 200}] = 3;
  const std::string text = metrics.text();
  for (const char* line :
       {"triax_time_to_first_token_seconds_bucket{le=\"0.001\"} 0\n",
        "triax_time_to_first_token_seconds_bucket{le=\"0.005\"} 1\n",
        "triax_time_to_first_token_seconds_bucket{le=\"+Inf\"} 2\n",
        "triax_time_to_first_token_seconds_count 2\n", "triax_kv_cache_usage_ratio 0.75\n",
        "triax_http_replies_total{route=\"/health\",status=\"200\"} 3\n"})
    EXPECT_NE(text.find(line), text.npos) << line << text;
}

}  // namespace
}  // namespace triax::test
