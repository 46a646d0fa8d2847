// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_record.hpp"

#include <nlohmann/json.hpp>

#include "io/metrics/run_events.hpp"
#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::HasSubstr;

StepMetrics metrics_at(std::int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.loss = 2.5;
  metrics.step_seconds = 0.5;
  return metrics;
}

Config config_of(const TempDirectory& directory) {
  Config config;
  config.run.directory = directory.path();
  config.run.progress = "none";
  config.run.steps = 10;
  return config;
}

TEST(RunRecord, WritesNothingForMonitorsUnlessAsked) {
  const TempDirectory directory;
  RunRecord(config_of(directory), {}, 0).step(metrics_at(0));
  EXPECT_FALSE(std::filesystem::exists(directory.path(tensorboard_folder)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST(RunRecord, FeedsTensorBoardAndOpenMetrics) {
  const TempDirectory directory;
  const Config config = config_of(directory);
  const OutputConfig outputs{.tensorboard = true, .openmetrics = directory.path("triax.prom")};
  directory.file("job.json", "{\"seed\": 1}\n");
  {
    RunRecord record(config, outputs, 0);
    record.step(metrics_at(0));
    record.valid(0, {3.5}, 100);
    EXPECT_THAT(contents(outputs.openmetrics), HasSubstr("triax_running{"));
    EXPECT_THAT(contents(outputs.openmetrics), HasSubstr("} 4.5\n")) << "seconds left";
  }
  EXPECT_THAT(contents(outputs.openmetrics), HasSubstr("triax_valid_loss{"));
  std::string events;
  for (const auto& file : std::filesystem::directory_iterator(directory.path(tensorboard_folder)))
    events += contents(file.path());
  for (const char* part : {"grad_norm", "bytes_sent/tensor", "valid_loss", "    {\"seed\": 1}"})
    EXPECT_THAT(events, HasSubstr(part));
}

TEST(RunRecord, AMonitorThatCannotBeWrittenDoesNotEndTheRun) {
  const TempDirectory directory;
  const Config config = config_of(directory);
  const OutputConfig outputs{.tensorboard = true,
                             .openmetrics = directory.path("absent/triax.prom")};
  directory.file(tensorboard_folder, "a file where the folder would be");
  RunRecord record(config, outputs, 0);
  record.step(metrics_at(0));
  record.step(metrics_at(1));
}

TEST(RunEvents, ALineThatWasTornIsEndedFirst) {
  const TempDirectory directory;
  const std::string path = directory.file(events_file, "{\"event\":\"start\"}\n{\"eve");
  append_event(path, "stop", {{"step", 3}, {"by", "SIGUSR1"}});
  append_event(path, "start", {{"step", 3}});
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4U);
  const auto stop = nlohmann::json::parse(lines[2]);
  EXPECT_EQ(stop["event"], "stop");
  EXPECT_EQ(stop["by"], "SIGUSR1");
  EXPECT_THAT(stop["time"].get<std::string>(), testing::MatchesRegex("....-..-..T..:..:..Z"));
  append_event(directory.path("absent/events.jsonl"), "stop", {});
}

}  // namespace
}  // namespace triax
