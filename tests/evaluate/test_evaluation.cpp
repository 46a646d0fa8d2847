// SPDX-License-Identifier: Apache-2.0
// Evaluations on every grid against lm-evaluation-harness (make_evaluate.py), in float64.
#include "src/evaluate/evaluation.hpp"

#include "src/inference/model_files.hpp"
#include "tests/evaluate/golden_tasks.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/matchers.hpp"

namespace triax::test {
namespace {

// All tasks of a family over all ranks.
struct Tasks {
  std::string family = "llama";
  GridShape shape = {};
  MPI_Comm world = MPI_COMM_WORLD;
  std::int64_t stride = 0;  // 0: the length
  std::int64_t rows = 256;
  std::string scores = {};
  std::vector<std::string> tasks = {"choices.jsonl", "hellaswag.bin", "prompts.jsonl"};
};

nlohmann::ordered_json results_of(const Tasks& run) {
  ProcessGrid grid(run.world, run.shape);
  const Ranks ranks(grid);
  const ModelFiles files(golden_evaluate(run.family), ranks);
  TaskOptions options = golden_options(run.family);
  if (run.stride > 0) options.windows.stride = run.stride;
  std::vector<OpenedTask> tasks;
  for (const char* data : {"documents.jsonl", "tokens.bin"})
    for (OpenedTask& task : open_data(golden_evaluate(run.family + "/" + data), options))
      tasks.push_back(std::move(task));
  for (const std::string& task : run.tasks)
    tasks.push_back(open_task(golden_evaluate(run.family + "/" + task), options));
  GridModel model(files.model(), grid, options.windows.length,
                  [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
                    files.load(stream, config, store, ranks);
                  });
  Answers answers(model, run.rows, options.tokenizer->tokenizer->vocabulary());
  const EvaluationOptions evaluation{.scores = run.scores,
                                     .header = {{"evaluation", 1}, {"stride", run.stride}}};
  return evaluate(answers, tasks, evaluation, ranks);
}

std::vector<GridShape> shapes_of(int ranks) {
  std::vector<GridShape> shapes;
  for (int tensor = 1; tensor <= ranks; tensor *= 2)
    for (int pipeline = 1; pipeline * tensor <= ranks; pipeline *= 2)
      if (tensor <= 2 && pipeline <= 2)
        shapes.push_back(
            {.data = ranks / tensor / pipeline, .pipeline = pipeline, .tensor = tensor});
  return shapes;
}

// The lines of a file of scores, by task.
std::vector<std::vector<nlohmann::json>> scores_in(const std::string& path) {
  std::vector<std::vector<nlohmann::json>> scores;
  std::istringstream lines(contents(path));
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    const auto score = nlohmann::json::parse(line);
    scores.resize(std::max(scores.size(), score.at("task").get<std::size_t>() + 1));
    scores[score.at("task")].push_back(score);
  }
  return scores;
}

void expect_near(const nlohmann::json& found, const nlohmann::json& expected,
                 const std::string& what) {
  const double e = expected.get<double>();
  EXPECT_NEAR(found.get<double>(), e, 2e-6 * std::max(1.0, std::abs(e))) << what;
}

// A perplexity is the exponential of a sum over its words.
void expect_metrics(const nlohmann::ordered_json& found, const nlohmann::json& expected) {
  for (const auto& [name, value] : expected.items()) {
    if (!value.is_number()) continue;
    if (name.ends_with("perplexity"))
      EXPECT_NEAR(found.at(name).get<double>() / value.get<double>(), 1.0, 2e-5) << name;
    else
      expect_near(found.at(name), value, name);
  }
}

void expect_documents(const std::vector<nlohmann::json>& scores, const nlohmann::json& expected) {
  std::vector<double> sums(expected.size());
  for (const nlohmann::json& score : scores)
    sums.at(score.at("document")) += score.at("loglikelihood").get<double>();
  for (std::size_t i = 0; i < sums.size(); ++i) expect_near(sums[i], expected[i], "document");
}

void expect_choices(const std::vector<nlohmann::json>& scores, const nlohmann::json& expected) {
  ASSERT_EQ(scores.size(), expected.size());
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t c = 0; c < expected[i].size(); ++c)
      expect_near(scores[i].at("loglikelihoods").at(c), expected[i][c], "choice");
}

class EvaluationTest : public testing::Test {
 protected:
  EvaluationTest() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  // Path of a file of rank 0.
  std::string scores(const std::string& name) const { return directory_.path(name); }

  TempDirectory directory_;
  int rank_ = 0, ranks_ = 1;
  const nlohmann::json expected_ = expected_answers();
};

TEST_F(EvaluationTest, AgreesWithTheHarnessOnEveryGrid) {
  for (const std::string family : {"llama", "gpt2"})
    for (const GridShape& shape : shapes_of(ranks_)) {
      SCOPED_TRACE(family + ", " + shape.text());
      const std::string path = scores(family + shape.text());
      const auto results = results_of({.family = family, .shape = shape, .scores = path});
      if (rank_ != 0) continue;
      const nlohmann::json& expected = expected_.at(family);
      const auto found = scores_in(path);
      ASSERT_EQ(found.size(), 5U);
      expect_documents(found[0], expected.at("documents").at("loglikelihoods"));
      expect_metrics(results[0], expected.at("documents"));
      expect_choices(found[2], expected.at("choices").at("loglikelihoods"));
      expect_metrics(results[2], expected.at("choices"));
      EXPECT_EQ(results[2].at("truncated"), 1);
      expect_choices(found[3], expected.at("hellaswag").at("loglikelihoods"));
      expect_metrics(results[3], expected.at("hellaswag"));
      for (std::size_t i = 0; i < found[4].size(); ++i)
        EXPECT_EQ(found[4][i].at("generated"), expected.at("prompts").at("texts").at(i));
      expect_metrics(results[4], expected.at("prompts"));
    }
}

TEST_F(EvaluationTest, WindowsWithAStrideAreTheHarnesses) {
  const std::int64_t stride = expected_.at("stride");
  const std::string path = scores("strided");
  const auto results = results_of(
      {.family = "gpt2", .shape = {.data = ranks_}, .stride = stride, .scores = path, .tasks = {}});
  if (rank_ != 0) return;
  const nlohmann::json& expected = expected_.at("gpt2");
  const auto found = scores_in(path);
  expect_documents(found[0], expected.at("strided").at("loglikelihoods"));
  expect_metrics(results[0], expected.at("strided"));
  ASSERT_EQ(found[1].size(), expected.at("tokens").at("windows").size());
  for (std::size_t i = 0; i < found[1].size(); ++i)
    expect_near(found[1][i].at("loglikelihood"), expected.at("tokens").at("windows").at(i),
                "window");
}

TEST_F(EvaluationTest, DataRanksChangeNoBit) {
  const auto alone = results_of({.world = MPI_COMM_SELF});
  const auto shared = results_of({.shape = {.data = ranks_}});
  if (rank_ == 0) {
    EXPECT_EQ(shared, alone);
  }
}

TEST_F(EvaluationTest, BatchesChangeLittle) {
  const auto one = results_of({.shape = {.data = ranks_}, .rows = 1});
  const auto many = results_of({.shape = {.data = ranks_}, .rows = 4096});
  if (rank_ != 0) return;
  for (std::size_t task = 0; task < many.size(); ++task) expect_metrics(one[task], many[task]);
}

TEST_F(EvaluationTest, GoesOnWhereItWasKilled) {
  const std::string path = scores("killed");
  const Tasks run{.shape = {.data = ranks_}, .scores = path};
  const auto results = results_of(run);
  const std::string whole = rank_ == 0 ? contents(path) : std::string();
  for (const double share : {0.0, 0.3, 0.61, 0.95, 1.0}) {
    if (rank_ == 0)
      directory_.file(
          "killed",
          whole.substr(0, static_cast<std::size_t>(share * static_cast<double>(whole.size()))));
    const auto again = results_of(run);
    if (rank_ != 0) continue;
    EXPECT_EQ(again, results);
    EXPECT_EQ(contents(path), whole);
  }
}

TEST_F(EvaluationTest, AFailureOfOneRankIsAFailureOfAll) {
  EXPECT_THAT(error_of([&] {
                results_of({.shape = {.data = ranks_}, .scores = directory_.path("no/s.jsonl")});
              }),
              HasSubstr("s.jsonl"));
}

TEST_F(EvaluationTest, TokensOfAnotherVocabularyAreRefused) {
  ProcessGrid grid(MPI_COMM_WORLD, {.data = ranks_});
  const ModelFiles files(golden_evaluate("llama"), grid);
  GridModel model(files.model(), grid, 16,
                  [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
                    files.load(stream, config, store, grid);
                  });
  Answers answers(model, 64, 0);
  std::vector<Item> items(1);
  items[0].where = "f, tokens 0 to 2";
  items[0].requests.push_back({{1}, {320}});
  EXPECT_THAT(
      error_of([&] { answers.all(items); }),
      HasSubstr("f, tokens 0 to 2: 320 is not a token of the model (its vocabulary has 320"));
}

}  // namespace
}  // namespace triax::test
