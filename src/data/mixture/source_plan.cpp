// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/source_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/data/mixture/source_names.hpp"
#include "src/data/mixture/weight_units.hpp"

namespace triax {
namespace {

// Share of a source from each step on where it changes.
std::string share_text(const DataConfig& data, std::size_t source) {
  std::set<std::int64_t> begins = {0};
  for (const DataSource& each : data.sources)
    for (const SourceWeight& weight : each.weights) begins.insert(weight.until_step);
  std::string text, last;
  for (const std::int64_t begin : begins) {
    double sum = 0.0;
    for (const DataSource& each : data.sources) sum += weight_at(each, begin);
    std::string share =
        fmt::format("{:.4g}%", 100.0 * weight_at(data.sources[source], begin) / sum);
    if (share == last) continue;
    text += begin == 0 ? share + " of the samples"
                       : fmt::format(" until step {}, then {}", begin, share);
    last = std::move(share);
  }
  return text;
}

// Epochs of a source at the end of the run.
double epochs_at_end(const Config& config, const TrainingData& data, std::size_t source,
                     std::int64_t step, std::int64_t sample, double epochs_now) {
  const std::int64_t steps = std::max<std::int64_t>(0, config.run.steps - step);
  const double samples = data.blend().share(source, sample, sample + steps * config.batch.global);
  return epochs_now + samples / static_cast<double>(data.reader(source).samples());
}

}  // namespace

std::vector<SourcePlan> plan_sources(const Config& config) {
  std::vector<SourcePlan> plans;
  if (config.data.sources.empty()) return plans;
  const Blend blend(blend_phases(config.data, 0, 0, config.batch.global));
  const auto names = source_names(config.data);
  for (std::size_t i = 0; i < names.size(); ++i)
    plans.push_back({names[i], config.data.sources[i].files, share_text(config.data, i),
                     blend.share(i, 0, config.run.steps * config.batch.global)});
  return plans;
}

std::vector<std::string> source_lines(const Config& config, const TrainingData& data,
                                      std::int64_t step, std::int64_t sample) {
  std::vector<std::string> lines;
  if (!data.blends()) return lines;
  const auto now = source_epochs(data, sample);
  for (std::size_t i = 0; i < data.sources(); ++i)
    lines.push_back(fmt::format(
        "source {}: {} file(s), {} tokens, {} samples per epoch; {}; {:.3g} epochs at the end of "
        "the run{}",
        data.name(i), config.data.sources[i].files, data.reader(i).tokens(),
        data.reader(i).samples(), share_text(config.data, i),
        epochs_at_end(config, data, i, step, sample, now[i].second),
        step > 0 ? fmt::format(", {:.3g} so far", now[i].second) : ""));
  return lines;
}

std::vector<std::string> repetition_warnings(const Config& config, const TrainingData& data,
                                             std::int64_t step, std::int64_t sample) {
  std::vector<std::string> lines;
  if (!data.blends()) return lines;
  const auto now = source_epochs(data, sample);
  for (std::size_t i = 0; i < data.sources(); ++i) {
    const double epochs = epochs_at_end(config, data, i, step, sample, now[i].second);
    if (epochs > worthwhile_epochs)
      lines.push_back(fmt::format(
          "the run makes {:.3g} epochs over source {}: beyond {:g}, repeated tokens are worth "
          "clearly less than new ones (Muennighoff et al. 2023). Lower its weight, or add data",
          epochs, data.name(i), worthwhile_epochs));
  }
  return lines;
}

std::vector<std::pair<std::string, double>> source_epochs(const TrainingData& data,
                                                          std::int64_t sample) {
  std::vector<double> epochs;
  data.epochs_at(sample, epochs);
  std::vector<std::pair<std::string, double>> named;
  for (std::size_t i = 0; i < epochs.size(); ++i) named.emplace_back(data.name(i), epochs[i]);
  return named;
}

}  // namespace triax
