// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/paged_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/inference/sampling/choose_token.hpp"
#include "tests/inference/engine/engine_model.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t context = 64;

class PagedEngineTest : public testing::TestWithParam<std::string> {
 protected:
  PagedEngineTest() : own_(GetParam(), context) {}
  GridModel& model() { return own_.model(); }
  std::int64_t vocabulary() { return model().model().vocabulary; }

  std::vector<std::int32_t> greedy_text(const std::vector<std::int32_t>& prompt,
                                        std::int64_t tokens) {
    Generator generator(model());
    std::vector<std::int32_t> text;
    while (std::ssize(text) < tokens) {
      const auto& logits =
          text.empty() ? generator.logits(prompt) : generator.logits_after(text.back());
      text.push_back(draw_token(logits, {.temperature = 0.0}, 0.0));
    }
    return text;
  }

  // Requests with prompts of many lengths, some beginning alike.
  std::vector<GenerationRequest> requests(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto common = some_tokens(model().context(), vocabulary(), 77);
    std::vector<GenerationRequest> all;
    for (std::size_t i = 0; i < count; ++i) {
      GenerationRequest request;
      request.id = i + 1;
      const auto length = 1 + static_cast<std::int64_t>(
                                  random() % static_cast<std::uint64_t>(model().context() - 1));
      const auto shared = static_cast<std::int64_t>(random() % 3) * 20;
      request.prompt = some_tokens(length, vocabulary(), seed + i);
      std::copy_n(common.begin(), std::min(shared, length), request.prompt.begin());
      request.max_tokens = 1 + static_cast<std::int64_t>(random() % 20);
      request.log_probabilities = static_cast<int>(i % 3);
      request.prompt_log_probabilities = i % 4 == 0;
      request.choice.seed = i;
      request.choice.temperature = i % 2 == 0 ? 0.0 : 0.8;
      if (i % 3 == 0) request.choice.top_p = 0.9;
      if (i % 5 == 0) request.choice.repetition_penalty = 1.2;
      all.push_back(request);
    }
    return all;
  }

  EngineModel own_;
};

std::string name_of_case(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}
// Answers keep to their form and end where it ends, in any company; requests without one are as
// ever.
TEST_P(PagedEngineTest, AnswersHaveTheirForm) {
  const auto bytes = [&] {
    std::vector<std::string> all;
    for (std::int64_t token = 0; token < vocabulary(); ++token)
      all.emplace_back(1, static_cast<char>('a' + token % 26));
    return all;
  };
  std::vector<GenerationRequest> all = requests(12, 3);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].prompt.resize(
        std::min(all[i].prompt.size(), static_cast<std::size_t>(model().context() - 16)));
    all[i].max_tokens = 16;
    if (i % 3 == 0) all[i].constraint = {.kind = ConstraintSpec::Kind::regex, .text = "(ab|cd){3}"};
    if (i % 3 == 1)
      all[i].constraint = {.kind = ConstraintSpec::Kind::choice, .text = R"(["xyz", "xy"])"};
  }
  const EngineOptions options = {.tokens_per_step = 20, .cache_blocks = 12};
  PagedModel paged(model(), options, cache_blocks_of(model(), options, 1e9),
                   most_step_rows(model(), options));
  PagedEngine engine(paged, options, {}, bytes);
  const Answers together = answers_of(engine, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Answer& answer = together.at(all[i].id);
    std::string text;
    for (const std::int32_t token : answer.ids()) text += bytes()[static_cast<std::size_t>(token)];
    EXPECT_TRUE(same(answers_of(engine, {all[i]}).at(all[i].id).tokens, answer.tokens)) << i;
    if (i % 3 == 2) continue;
    EXPECT_EQ(answer.finished, i % 3 == 0 || text == "xyz" ? FinishReason::stop : answer.finished);
    if (i % 3 == 0) {
      ASSERT_EQ(text.size(), 6U);
      for (std::size_t at = 0; at < 6; at += 2)
        EXPECT_TRUE(text.substr(at, 2) == "ab" || text.substr(at, 2) == "cd") << text;
    } else {
      EXPECT_EQ(text, "xyz") << "no end token: it cannot end after xy";
    }
  }
  PagedEngine without(paged, options);
  EXPECT_THROW(without.submit(all[0]), UsageError) << "an engine without tokens";
  all[0].constraint.text = "(";
  EXPECT_THROW(engine.submit(all[0]), UsageError);
}

// The last hidden state gives the logits, by the output projection; the mean is that of the last
// ones of all beginnings.
TEST_P(PagedEngineTest, EmbeddingsAreHiddenStates) {
  OwnEngine own(model(), {});
  GenerationRequest request{.id = 1, .prompt = some_tokens(9, vocabulary(), 5), .max_tokens = 0};
  std::vector<double> mean;
  for (std::size_t length = 1; length <= 9; ++length) {
    GenerationRequest beginning = request;
    beginning.prompt.resize(length);
    beginning.pooling = Pooling::last;
    const auto last = answers_of(own.engine, {beginning}).at(1).embedding;
    mean.resize(last.size());
    for (std::size_t i = 0; i < last.size(); ++i) mean[i] += last[i] / 9.0;
    beginning.pooling = Pooling::none;
    beginning.max_tokens = 1;
    beginning.log_probabilities = 20;
    beginning.choice.temperature = 0;
    const auto likeliest = answers_of(own.engine, {beginning}).at(1).tokens.at(0).alternatives;
    const Tensor head = model().layer(model().layers_before_head()).weights.back();
    const auto logit = [&](std::int32_t token) {
      double sum = 0;
      for (std::size_t i = 0; i < last.size(); ++i)
        sum += static_cast<double>(last[i]) *
               head.as<float>()[static_cast<std::size_t>(token) * last.size() + i];
      return sum / model().model().logit_divisor;
    };
    if (model().model().logit_soft_cap > 0) continue;
    for (const auto& [token, log_probability] : likeliest)
      EXPECT_NEAR(log_probability - likeliest[0].second, logit(token) - logit(likeliest[0].first),
                  1e-4);
  }
  request.pooling = Pooling::mean;
  const auto found = answers_of(own.engine, {request}).at(1).embedding;
  ASSERT_EQ(found.size(), mean.size());
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(found[i], mean[i], 1e-5);
}

TEST_P(PagedEngineTest, EmbeddingsHaveTheSameBitsInAnyCompany) {
  std::vector<GenerationRequest> all = requests(16, 11);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 2 == 0) continue;
    all[i].max_tokens = 0;
    all[i].prompt_log_probabilities = i % 3 == 0;
    all[i].pooling = i % 4 == 1 ? Pooling::mean : Pooling::last;
  }
  OwnEngine small(model(), {.tokens_per_step = 17, .cache_blocks = 9});
  const Answers together = answers_of(small.engine, all);
  for (const GenerationRequest& request : all) {
    OwnEngine alone(model(), {});
    const Answer one = answers_of(alone.engine, {request}).at(request.id);
    EXPECT_EQ(one.embedding, together.at(request.id).embedding) << request.id;
    EXPECT_EQ(one.embedding.empty(), request.pooling == Pooling::none);
    EXPECT_TRUE(same(one.tokens, together.at(request.id).tokens));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PagedEngineTest,
                         testing::Values("gpt2-odd", "llama-odd", "qwen3", "gemma2", "pythia",
                                         "olmo2", "granite"),
                         name_of_case);

TEST_P(PagedEngineTest, GreedyTextsAreThoseOfTheGenerator) {
  OwnEngine own(model(), {});
  std::vector<GenerationRequest> requests;
  const std::int64_t most = model().context();
  for (const std::int64_t length :
       {std::int64_t{1}, std::int64_t{5}, std::int64_t{15}, std::int64_t{16}, std::int64_t{17},
        most / 2, most - 2, most - 1}) {
    GenerationRequest request;
    request.id = requests.size() + 1;
    request.prompt = some_tokens(length, vocabulary(), request.id);
    request.choice.temperature = 0.0;
    request.max_tokens = 20;
    const Answer alone = answers_of(own.engine, {request})[request.id];
    EXPECT_EQ(alone.ids(), greedy_text(request.prompt, std::min<std::int64_t>(20, most - length)));
    EXPECT_EQ(alone.finished, FinishReason::length);
    requests.push_back(request);
  }
  const Answers together = answers_of(own.engine, requests);
  for (const GenerationRequest& request : requests)
    EXPECT_EQ(
        together.at(request.id).ids(),
        greedy_text(request.prompt, std::min<std::int64_t>(20, most - std::ssize(request.prompt))));
  EXPECT_EQ(own.engine.state().free_cache_blocks, own.engine.state().cache_blocks);
}

// Every request alone, against random company, budgets, chunks, prefix hits and preemptions.
TEST_P(PagedEngineTest, RequestsHaveTheSameBitsInAnyCompany) {
  const auto all = requests(16, 5);
  Answers alone;
  {
    OwnEngine own(model(), {.prefix_cache = false});
    for (const GenerationRequest& request : all)
      alone[request.id] = answers_of(own.engine, {request})[request.id];
  }
  std::mt19937 random(3);
  std::int64_t preemptions = 0, hits = 0;
  for (int round = 0; round < 8; ++round) {
    EngineOptions options;
    options.block_tokens = round % 3 == 2 ? 32 : 16;
    options.tokens_per_step = std::array<std::int64_t, 4>{1, 5, 23, 500}[random() % 4];
    options.sequences = std::array<std::int64_t, 3>{2, 5, 16}[random() % 3];
    options.prefix_cache = round % 2 == 0;
    options.speculate = std::array<std::int64_t, 4>{0, 4, 1, 9}[random() % 4];
    options.cache_blocks = round < 4 ? 1 : 40;  // one: as many as a text of the whole context
    if (round == 0) options.tokens_per_step = 500, options.sequences = 16;  // all at once
    OwnEngine own(model(), options);
    auto left = all;
    std::ranges::shuffle(left, random);
    Answers found;
    while (!left.empty() || own.engine.state().running + own.engine.state().waiting > 0) {
      for (std::uint32_t n = random() % 3; n > 0 && !left.empty(); --n) {
        own.engine.submit(left.back());
        left.pop_back();
      }
      collect(found, own.engine.step());
    }
    for (const GenerationRequest& request : all) {
      const Answer &a = alone[request.id], &b = found[request.id];
      ASSERT_TRUE(same(a.tokens, b.tokens)) << "request " << request.id << " in round " << round;
      ASSERT_TRUE(same(a.prompt, b.prompt)) << "prompt " << request.id << " in round " << round;
      ASSERT_EQ(a.finished, b.finished);
    }
    const EngineState state = own.engine.state();
    EXPECT_EQ(state.free_cache_blocks, state.cache_blocks);
    preemptions += state.preemptions;
    hits += state.prefix_hit_tokens;
  }
  EXPECT_GT(preemptions, 0);
  EXPECT_GT(hits, 0);
}

// Greedy texts of small models repeat themselves: guesses are right, and no bit changes.
TEST_P(PagedEngineTest, GuessesChangeNothing) {
  auto all = requests(6, 21);
  for (GenerationRequest& request : all) {
    request.prompt.resize(std::min<std::size_t>(request.prompt.size(), 12));
    request.choice.temperature = 0.0;
    request.max_tokens = 40;
  }
  OwnEngine plain(model(), {}), guessing(model(), {.speculate = 4});
  const Answers expected = answers_of(plain.engine, all), found = answers_of(guessing.engine, all);
  for (const GenerationRequest& request : all) {
    EXPECT_TRUE(same(found.at(request.id).tokens, expected.at(request.id).tokens)) << request.id;
    EXPECT_TRUE(same(found.at(request.id).prompt, expected.at(request.id).prompt)) << request.id;
    EXPECT_EQ(found.at(request.id).finished, expected.at(request.id).finished);
  }
  const EngineState state = guessing.engine.state();
  EXPECT_GT(state.accepted_tokens, 0);
  EXPECT_LE(state.steps, plain.engine.state().steps);
  EXPECT_EQ(state.answer_tokens, plain.engine.state().answer_tokens);
  EXPECT_EQ(state.free_cache_blocks, state.cache_blocks);
}

TEST_P(PagedEngineTest, CancelledRequestsLeaveNothing) {
  OwnEngine own(model(), {.tokens_per_step = 7, .cache_blocks = 6});
  const auto all = requests(12, 9);
  std::mt19937 random(1);
  for (const GenerationRequest& request : all) own.engine.submit(request);
  Answers found;
  for (int i = 0; i < 30; ++i) {
    own.engine.cancel(1 + random() % all.size());
    collect(found, own.engine.step());
  }
  for (const GenerationRequest& request : all) own.engine.cancel(request.id);
  const EngineState state = own.engine.state();
  EXPECT_EQ(state.running + state.waiting, 0);
  EXPECT_EQ(state.free_cache_blocks, state.cache_blocks);
  EXPECT_TRUE(own.engine.step().empty());
}

// Half the bytes, nearly the same probabilities.
TEST_P(PagedEngineTest, ABf16CacheIsNearTheFloatOne) {
  GenerationRequest request{.id = 1, .prompt = some_tokens(20, vocabulary(), 1)};
  request.choice.temperature = 0.0;
  request.max_tokens = 0;
  request.prompt_log_probabilities = true;
  OwnEngine wide(model(), {}), narrow(model(), {.cache_dtype = DType::bf16});
  const Answer a = answers_of(wide.engine, {request})[1],
               b = answers_of(narrow.engine, {request})[1];
  ASSERT_EQ(a.prompt.size(), 19U);
  for (std::size_t i = 0; i < a.prompt.size(); ++i)
    EXPECT_NEAR(a.prompt[i].log_probability, b.prompt[i].log_probability, 0.05);
}

}  // namespace
}  // namespace triax::test
