// SPDX-License-Identifier: Apache-2.0
#include "src/config/rates/rates.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "src/config/rates/parameter.hpp"
#include "tests/config/job_files.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/scheduler.hpp"

namespace triax {
namespace {
using nlohmann::json;
using test::scheduler;

double rate_at(const Config& config, std::int64_t step) {
  return rate_schedule(config.scheduler.type)
      .rate({config.scheduler, config.optimizer, step, config.run.steps});
}

// Steps 0 to 11 of a run of 8 steps at the optimizer's rate 1.
std::vector<double> rates_of(const SchedulerConfig& schedule) {
  OptimizerConfig optimizer;
  optimizer.learning_rate = 1.0;
  std::vector<double> rates;
  for (std::int64_t step = 0; step < 12; ++step)
    rates.push_back(rate_schedule(schedule.type).rate({schedule, optimizer, step, 8}));
  return rates;
}

class Rates : public testing_support::JobFiles {};

// tests/golden/rates.json: every step and some behind the end, through the keys of a job.
TEST_F(Rates, AreThoseOfHuggingFaceAndDeepSpeed) {
  std::ifstream file(TRIAX_SOURCE_DIR "/tests/golden/rates.json");
  const json golden = json::parse(file);
  std::set<std::string> tried;
  for (const json& expected : golden["cases"]) {
    SCOPED_TRACE(expected["type"].get<std::string>() + " " + expected["params"].dump());
    const json job = {{"optimizer", {{"params", {{"lr", golden["lr"]}}}}},
                      {"run", {{"steps", golden["steps"]}}},
                      {"scheduler", {{"type", expected["type"]}, {"params", expected["params"]}}}};
    const std::string members = job.dump();
    const Config config = this->config(", " + members.substr(1, members.size() - 2));
    const auto rates = expected["rates"].get<std::vector<double>>();
    EXPECT_GT(static_cast<std::int64_t>(rates.size()), config.run.steps);
    for (std::size_t step = 0; step < rates.size(); ++step)
      EXPECT_NEAR(rate_at(config, static_cast<std::int64_t>(step)), rates[step],
                  1e-15 * config.optimizer.learning_rate + 1e-13 * rates[step])
          << "step " << step;
    tried.insert(expected["type"]);
  }
  EXPECT_EQ(tried.size() + 1, rate_schedules().size()) << "cosine is triax's own";
}

TEST_F(Rates, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const RateSchedule* row : rate_schedules()) {
    SCOPED_TRACE(row->name);
    EXPECT_TRUE(names.insert(row->name).second);
    EXPECT_EQ(&rate_schedule(row->name), row);
    std::set<std::string> parameters;
    for (const RateParameter& parameter : row->parameters()) {
      EXPECT_TRUE(parameters.insert(parameter.key.path).second) << parameter.key.path;
      EXPECT_TRUE(parameter.key.scope.empty()) << parameter.key.path;
      EXPECT_EQ(parameter.key.automatic, !parameter.automatic.is_null()) << parameter.key.path;
    }
    for (const char* name : {row->peak_parameter, row->warmup_parameter})
      EXPECT_TRUE(name == nullptr || parameters.contains(parameter_path(name))) << name;
  }
  EXPECT_GE(names.size(), 15U);
  EXPECT_THAT(test::error_of([] { rate_schedule("sawtooth"); }), testing::HasSubstr("sawtooth"));
}

TEST_F(Rates, StayFiniteAndPositiveWhateverTheLengths) {
  const std::map<std::string, double> needed = {
      {"cycle_min_lr", 0.1},         {"cycle_max_lr", 0.9},          {"warmup_max_lr", 0.9},
      {"total_num_steps", 8},        {"num_decay_steps", 3},         {"min_lr", 0.2},
      {"cycle_second_step_size", 3}, {"cycle_second_stair_count", 0}};
  for (const RateSchedule* row : rate_schedules())
    for (const double warmup : {0.0, 1.0, 2.0, 8.0, 100.0, 1e18}) {
      auto numbers = needed;
      if (row->warmup_parameter != nullptr) numbers[row->warmup_parameter] = warmup;
      const auto rates = rates_of(scheduler(row->name, numbers));
      for (std::size_t step = 0; step < rates.size(); ++step)
        EXPECT_TRUE(rates[step] >= 0.0 && std::isfinite(rates[step]))
            << row->name << " " << warmup << ": " << rates[step] << " at step " << step;
      const bool one_rate = std::set(rates.begin(), rates.end()).size() == 1;
      EXPECT_TRUE(row->varies ? !one_rate || warmup != 2.0 : one_rate) << row->name;
    }
}

// A resumed run asks for the rate of its first step, as an unbroken run does.
TEST_F(Rates, OfALaterStepDependOnNoEarlierOne) {
  const Config config = this->config(
      R"(, "run": {"steps": 40}, "scheduler": {"type": "warmup_stable_decay", "params":
      {"num_warmup_steps": 5, "num_decay_steps": 10}})");
  std::vector<double> forwards, backwards;
  for (std::int64_t step = 0; step < 40; ++step) forwards.push_back(rate_at(config, step));
  for (std::int64_t step = 39; step >= 0; --step) backwards.push_back(rate_at(config, step));
  EXPECT_TRUE(std::equal(forwards.begin(), forwards.end(), backwards.rbegin()));
}

}  // namespace
}  // namespace triax
