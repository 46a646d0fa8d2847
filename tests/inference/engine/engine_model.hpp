// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models and requests for tests of engines.
#include <algorithm>
#include <map>

#include "src/inference/engine/cache_size.hpp"
#include "src/inference/engine/paged_engine.hpp"
#include "src/inference/generate.hpp"
#include "src/inference/model_files.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {

/// The initial weights of a golden case on a grid, perhaps changed.
class EngineModel {
 public:
  using Change = std::function<void(const Stream&, ParameterStore&)>;
  EngineModel(const std::string& family, std::int64_t context, MPI_Comm world = MPI_COMM_SELF,
              const GridShape& shape = {}, const Change& change = {})
      : grid_(world, shape),
        files_(read_golden(family).directory, grid_),
        model_(files_.model(), grid_, std::min<std::int64_t>(context, files_.model().positions),
               [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
                 files_.load(stream, config, store, grid_);
                 if (change) change(stream, store);
               }) {}
  GridModel& model() { return model_; }
  ProcessGrid& grid() { return grid_; }

 private:
  ProcessGrid grid_;
  ModelFiles files_;
  GridModel model_;
};

/// A paged engine with its model's cache.
struct OwnEngine {
  PagedModel paged;
  PagedEngine engine;
  OwnEngine(GridModel& model, const EngineOptions& options)
      : paged(model, options, cache_blocks_of(model, options, 1e9), most_step_rows(model, options)),
        engine(paged, options) {}
};

/// Answer of an engine to a request.
struct Answer {
  std::vector<TokenLikelihood> prompt, tokens;
  std::vector<float> embedding;
  std::optional<FinishReason> finished;
  std::string error;
  int outputs = 0;

  std::vector<std::int32_t> ids() const {
    std::vector<std::int32_t> of;
    for (const TokenLikelihood& token : tokens) of.push_back(token.token);
    return of;
  }
};
using Answers = std::map<std::uint64_t, Answer>;

inline bool same(const TokenLikelihood& a, const TokenLikelihood& b) {
  return a.token == b.token && a.log_probability == b.log_probability &&
         a.alternatives == b.alternatives;
}
inline bool same(const std::vector<TokenLikelihood>& a, const std::vector<TokenLikelihood>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same(x, y); });
}

inline void collect(Answers& answers, const std::vector<GenerationOutput>& outputs) {
  for (const GenerationOutput& output : outputs) {
    Answer& answer = answers[output.id];
    EXPECT_FALSE(answer.finished) << "an output of a closed request";
    EXPECT_TRUE(answer.outputs++ == 0 || output.prompt.empty());
    answer.prompt.insert(answer.prompt.end(), output.prompt.begin(), output.prompt.end());
    answer.tokens.insert(answer.tokens.end(), output.tokens.begin(), output.tokens.end());
    if (!output.embedding.empty()) answer.embedding = output.embedding;
    answer.finished = output.finished;
    answer.error = output.error;
  }
}

/// Answers of requests that are submitted at once.
inline Answers answers_of(Engine& engine, const std::vector<GenerationRequest>& requests) {
  for (const GenerationRequest& request : requests) engine.submit(request);
  Answers answers;
  for (int step = 0; step < 100000; ++step) {
    const EngineState state = engine.state();
    if (state.waiting + state.running == 0) return answers;
    collect(answers, engine.step());
  }
  ADD_FAILURE() << "the engine does not come to an end";
  return answers;
}

inline std::vector<std::int32_t> some_tokens(std::int64_t count, std::int64_t vocabulary,
                                             std::uint64_t seed) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    tokens.push_back(
        static_cast<std::int32_t>((seed >> 33U) % static_cast<std::uint64_t>(vocabulary)));
  }
  return tokens;
}

}  // namespace triax::test
