// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/evaluation.hpp"

#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "src/evaluate/progress.hpp"
#include "src/evaluate/score_file.hpp"

namespace triax {
namespace {

constexpr const char* task_key = "task";

// State of an evaluation: rank 0 has the file and the sums, the others read and compute.
class Evaluation {
 public:
  Evaluation(Answers& answers, std::vector<OpenedTask>& tasks, const EvaluationOptions& options,
             const Ranks& ranks)
      : answers_(answers),
        tasks_(tasks),
        ranks_(ranks),
        progress_(options.progress && ranks.rank == 0),
        scored_(tasks.size()) {
    agreed(ranks_, [&] {
      if (ranks_.rank == 0 && !options.scores.empty()) take_up(options);
    });
    broadcast_numbers(ranks_, scored_, 0);
  }

  void run() {
    for (std::size_t number = 0; number < tasks_.size(); ++number) run(number);
  }

  nlohmann::ordered_json results() const {
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const OpenedTask& opened : tasks_) {
      nlohmann::ordered_json one = {{"task", opened.task->name()}, {"kind", opened.task->kind()}};
      one.update(opened.task->results());
      results.push_back(std::move(one));
    }
    return results;
  }

 private:
  Task& task(std::size_t number) { return *tasks_[number].task; }

  // Takes over the scores of an earlier evaluation.
  void take_up(const EvaluationOptions& options) {
    file_ = std::make_unique<ScoreFile>(options.scores, options.header);
    if (!file_->begun_anew().empty())
      spdlog::warn("{} is begun anew: {}", options.scores, file_->begun_anew());
    std::int64_t all = 0;
    file_->read([&](const nlohmann::ordered_json& score) {
      const auto number = score.at(task_key).get<std::size_t>();
      task(number).add(score);
      ++scored_.at(number);
      ++all;
    });
    if (all > 0) spdlog::info("{} has {} scores already; going on", options.scores, all);
  }

  void run(std::size_t number) {
    std::vector<Item> items;
    agreed(ranks_, [&] {
      Item passed;
      for (std::int64_t i = 0; i < scored_[number] && task(number).next(passed); ++i) continue;
    });
    progress_.begin(task(number).name(), task(number).passed());
    for (std::int64_t done = 0; read(number, items); done += std::ssize(items)) {
      const std::vector<Answer> answers = answers_.all(items);
      agreed(ranks_, [&] {
        if (ranks_.rank == 0) keep(number, items, answers);
      });
      progress_.show(task(number).passed(), done + std::ssize(items));
    }
  }

  // The items of the next round; false where there are none.
  bool read(std::size_t number, std::vector<Item>& items) {
    items.clear();
    agreed(ranks_, [&] {
      Item item;
      while (std::ssize(items) < answers_.round() && task(number).next(item))
        items.push_back(std::move(item));
    });
    return !items.empty();
  }

  void keep(std::size_t number, const std::vector<Item>& items,
            const std::vector<Answer>& answers) {
    std::vector<nlohmann::ordered_json> scores;
    for (std::size_t i = 0; i < items.size(); ++i) {
      nlohmann::ordered_json score = {{task_key, number}};
      score.update(task(number).score(items[i], answers[i]));
      scores.push_back(std::move(score));
    }
    if (file_) file_->append(scores);
    for (const nlohmann::ordered_json& score : scores) task(number).add(score);
  }

  Answers& answers_;
  std::vector<OpenedTask>& tasks_;
  const Ranks& ranks_;
  EvaluationProgress progress_;
  std::vector<std::int64_t> scored_;  // items of each task that an earlier evaluation scored
  std::unique_ptr<ScoreFile> file_;   // of rank 0
};

}  // namespace

nlohmann::ordered_json evaluate(Answers& answers, std::vector<OpenedTask>& tasks,
                                const EvaluationOptions& options, const Ranks& ranks) {
  Evaluation evaluation(answers, tasks, options, ranks);
  evaluation.run();
  return ranks.rank == 0 ? evaluation.results() : nlohmann::ordered_json();
}

}  // namespace triax
