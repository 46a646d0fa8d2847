// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/grid_engine.hpp"

#include <gtest/gtest.h>

#include "tests/inference/engine/engine_model.hpp"
#include "tests/support/matchers.hpp"

namespace triax::test {
namespace {

std::vector<GenerationRequest> some_requests(std::int64_t vocabulary) {
  std::vector<GenerationRequest> all;
  for (std::uint64_t id = 1; id <= 11; ++id) {
    GenerationRequest request{.id = id};
    request.prompt = some_tokens(1 + static_cast<std::int64_t>(5 * id % 22), vocabulary, id % 4);
    request.choice.temperature = id % 2 == 0 ? 0.0 : 0.7;
    request.choice.seed = id;
    request.max_tokens = 9;
    request.log_probabilities = 2;
    request.prompt_log_probabilities = id % 3 == 0;
    all.push_back(request);
  }
  return all;
}

int ranks_of_test() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

// Grids of this number of ranks.
std::vector<GridShape> shapes(int ranks) {
  std::vector<GridShape> all;
  for (const int tensor : {1, 2, 4})
    for (const int pipeline : {1, 2, 4})
      if (ranks % (tensor * pipeline) == 0)
        all.push_back({.data = ranks / tensor / pipeline, .pipeline = pipeline, .tensor = tensor});
  return all;
}

// Answers on rank 0, with all requests at once or one after another.
std::vector<Answers> answers_on(const GridShape& shape, const std::string& family,
                                const EngineOptions& options, bool at_once) {
  EngineModel own(family, 64, MPI_COMM_WORLD, shape);
  std::vector<Answers> found;
  with_engine(own.model(), options, [&](Engine& engine) {
    const auto all = some_requests(engine.vocabulary());
    if (at_once) found.push_back(answers_of(engine, all));
    for (const GenerationRequest& request : all)
      if (!at_once) found.push_back(answers_of(engine, {request}));
    const EngineState state = engine.state();
    EXPECT_EQ(state.free_cache_blocks, state.cache_blocks);
  });
  return found;
}

void expect_near(const Answer& found, const Answer& expected) {
  ASSERT_EQ(found.ids(), expected.ids());
  for (std::size_t i = 0; i < expected.tokens.size(); ++i)
    ASSERT_NEAR(found.tokens[i].log_probability, expected.tokens[i].log_probability, 1e-4);
  ASSERT_EQ(found.prompt.size(), expected.prompt.size());
  for (std::size_t i = 0; i < expected.prompt.size(); ++i)
    ASSERT_NEAR(found.prompt[i].log_probability, expected.prompt[i].log_probability, 1e-4);
}

TEST(GridEngine, AnswersAreThoseOfOneRank) {
  for (const std::string family : {"llama-scaled", "gpt2-odd", "olmo2"}) {
    EngineModel alone(family, 64);
    OwnEngine own(alone.model(), {});
    const Answers expected =
        answers_of(own.engine, some_requests(alone.model().model().vocabulary));
    for (const GridShape& shape : shapes(ranks_of_test())) {
      SCOPED_TRACE(family + " on " + shape.text());
      for (const std::int64_t guesses : {0, 3}) {
        const auto found =
            answers_on(shape, family, {.tokens_per_step = 30, .speculate = guesses}, true);
        if (found.empty()) continue;  // not rank 0
        for (const auto& [id, answer] : expected) expect_near(found[0].at(id), answer);
      }
    }
  }
}

TEST(GridEngine, EmbeddingsAreThoseOfOneRank) {
  const auto all = [](std::int64_t vocabulary) {
    auto requests = some_requests(vocabulary);
    for (GenerationRequest& request : requests) {
      request.max_tokens = 0;
      request.pooling = request.id % 2 == 0 ? Pooling::mean : Pooling::last;
    }
    return requests;
  };
  EngineModel alone("qwen3", 64);
  OwnEngine own(alone.model(), {});
  const Answers expected = answers_of(own.engine, all(own.engine.vocabulary()));
  for (const GridShape& shape : shapes(ranks_of_test())) {
    SCOPED_TRACE(shape.text());
    EngineModel whole("qwen3", 64, MPI_COMM_WORLD, shape);
    with_engine(whole.model(), {.tokens_per_step = 30}, [&](Engine& engine) {
      const Answers found = answers_of(engine, all(engine.vocabulary()));
      for (const auto& entry : expected) {
        const auto& embedding = found.at(entry.first).embedding;
        ASSERT_EQ(embedding.size(), entry.second.embedding.size());
        for (std::size_t i = 0; i < embedding.size(); ++i)
          ASSERT_NEAR(embedding[i], entry.second.embedding[i], 1e-4);
      }
    });
  }
}

// On each grid a request has the same bits alone and among others.
TEST(GridEngine, RequestsHaveTheSameBitsInAnyCompany) {
  for (const GridShape& shape : shapes(ranks_of_test())) {
    SCOPED_TRACE(shape.text());
    const auto alone = answers_on(shape, "qwen3", {}, false);
    const auto together =
        answers_on(shape, "qwen3", {.tokens_per_step = 7, .cache_blocks = 8}, true);
    if (together.empty()) continue;
    for (const Answers& one : alone)
      for (const auto& [id, answer] : one) {
        EXPECT_TRUE(same(answer.tokens, together[0].at(id).tokens)) << id;
        EXPECT_TRUE(same(answer.prompt, together[0].at(id).prompt)) << id;
      }
  }
}

// Requests that are cancelled while their steps are under way, and a body that ends early.
TEST(GridEngine, ComesToAnEndWithRequestsUnderWay) {
  for (const GridShape& shape : shapes(ranks_of_test())) {
    EngineModel own("llama-scaled", 64, MPI_COMM_WORLD, shape);
    with_engine(own.model(), {}, [&](Engine& engine) {
      for (const GenerationRequest& request : some_requests(engine.vocabulary()))
        engine.submit(request);
      for (int i = 0; i < 4; ++i) {
        for (const GenerationOutput& output : engine.step()) EXPECT_TRUE(i == 0 || output.id != 3U);
        engine.cancel(3);
        engine.cancel(static_cast<std::uint64_t>(i + 5));
        if (i == 0) engine.cancel(1);
      }
    });
  }
}

// A replica whose requests were cancelled before it learned of them has nothing to compute.
TEST(GridEngine, RequestsCancelledBeforeTheirStepAreNotComputed) {
  EngineModel own("llama-scaled", 64, MPI_COMM_WORLD, {.data = ranks_of_test()});
  with_engine(own.model(), {}, [&](Engine& engine) {
    const auto all = some_requests(engine.vocabulary());
    for (const GenerationRequest& request : all) engine.submit(request);
    for (const GenerationRequest& request : all) engine.cancel(request.id);
    EXPECT_TRUE(engine.step().empty());
    const EngineState state = engine.state();
    EXPECT_EQ(state.waiting + state.running, 0);
    EXPECT_EQ(state.prompt_tokens, 0);
  });
}

TEST(GridEngine, RefusesWrongOptionsOnAllRanks) {
  EngineModel own("llama-scaled", 64, MPI_COMM_WORLD, {.data = ranks_of_test()});
  const auto unused = [](Engine&) { FAIL(); };
  EXPECT_THROW(with_engine(own.model(), {.block_tokens = 24}, unused), UsageError);
  EXPECT_THROW(with_engine(own.model(), {.memory_fraction = 1e-12}, unused), UsageError);
}

}  // namespace
}  // namespace triax::test
