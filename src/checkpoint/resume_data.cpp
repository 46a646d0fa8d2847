// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/resume_data.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kernels/base/check.hpp"
#include "src/checkpoint/job_changes.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/data/mixture/weight_units.hpp"

namespace triax {
namespace {

using nlohmann::json;
using Counts = std::vector<std::int64_t>;

json state_of(const std::string& job) {
  const json root = json::parse(job, nullptr, false);
  const json::json_pointer place(std::string("/triax/") + data_state_key);
  return root.is_object() && root.contains(place) ? root[place] : json();
}

// A source of the run that wrote a checkpoint.
struct SavedSource {
  std::vector<std::string> files;
  std::int64_t used = 0, order = 0;
  std::optional<std::int64_t> tokens = {};  // that its files had
};

struct SavedData {
  std::vector<SavedSource> sources = {};
  std::optional<BlendState> state = {};
};

BlendState read_state(const json& saved, std::int64_t sample) {
  BlendState state;
  for (const json& phase : saved.at("phases"))
    state.phases.push_back({phase.at("begin"), phase.at("units").get<Counts>()});
  state.base = saved.at("base").get<Counts>();
  state.orders = saved.at("orders").get<Counts>();
  state.used = saved.at("used").get<Counts>();
  state.sample = sample;
  return state;
}

// Error unless the state has a number for each source.
void check_counts(const BlendState& state, const Counts& tokens, std::size_t sources) {
  bool all = !state.phases.empty();
  for (const BlendPhase& phase : state.phases) all &= phase.units.size() == sources;
  for (const Counts* counts : {&state.base, &state.orders, &state.used, &tokens})
    all &= counts->size() == sources;
  check(all, "its state is not that of {} sources", sources);
}

// Data of the checkpoint's run. An imported checkpoint has none.
SavedData saved_data(const CheckpointHeader& header) {
  SavedData data;
  for (auto& files : training_files(header.job)) data.sources.push_back({std::move(files)});
  const json saved = state_of(header.job);
  if (saved.is_null()) {
    if (data.sources.empty()) return data;
    data.sources.front().used = header.samples;
    data.sources.front().tokens = saved_integer(header.job, "triax.data_tokens");
    return data;
  }
  try {
    const BlendState& state = data.state.emplace(read_state(saved, header.samples));
    const auto tokens = saved.at("tokens").get<Counts>();
    check_counts(state, tokens, data.sources.size());
    for (std::size_t i = 0; i < data.sources.size(); ++i) {
      data.sources[i].used = state.used.at(i);
      data.sources[i].order = state.orders.at(i);
      data.sources[i].tokens = tokens.at(i);
    }
  } catch (const std::exception& problem) {
    throw Error("the checkpoint does not say what its run used of each source", problem.what(),
                "Resume another checkpoint");
  }
  return data;
}

// For each source of the job the one of the checkpoint with the same files; -1: none.
std::vector<int> same_sources(const std::vector<std::vector<std::string>>& here,
                              const std::vector<SavedSource>& there) {
  std::vector<bool> taken(there.size(), false);
  const auto is = [&](std::size_t i, std::size_t j) {
    return j < there.size() && !taken[j] && same_files(there[j].files, here[i]);
  };
  std::vector<int> found(here.size(), -1);
  for (std::size_t i = 0; i < here.size(); ++i) {
    std::size_t j = is(i, i) ? i : 0;
    while (j < there.size() && !is(i, j)) ++j;
    if (j == there.size()) continue;
    found[i] = static_cast<int>(j);
    taken[j] = true;
  }
  return found;
}

std::string epochs_text(std::int64_t used, std::int64_t of_an_epoch) {
  return fmt::format("{} samples ({:.3g} epochs)", used,
                     static_cast<double>(used) / static_cast<double>(of_an_epoch));
}

// Data of a resumed job, compared with those of its checkpoint.
class Resumption {
 public:
  Resumption(const CheckpointHeader& header, const LoadedJob& job, const TrainingData& data)
      : header_(header),
        config_(job.config),
        data_(data),
        saved_(saved_data(header)),
        same_(same_sources(training_files(job.resolved), saved_.sources)),
        length_(
            saved_integer(header.job, "data.seq_length").value_or(config_.data.sequence_length)) {}

  DataStart start() {
    BlendState state = carried();
    const BlendState next = with_weights(state, config_, header_.step);
    DataStart start{next.sample, next, {}};
    if (!saved_.sources.empty()) start.changes = changes(next);
    return start;
  }

 private:
  // Whether all sources of the checkpoint go on, in their order and with samples of their length.
  bool same_sources_and_length() const {
    std::vector<int> in_order(saved_.sources.size());
    std::iota(in_order.begin(), in_order.end(), 0);
    return same_ == in_order && length_ == config_.data.sequence_length;
  }

  // Samples of today's length that the checkpoint's run used of source `i`.
  std::int64_t used(std::size_t i) const {
    if (same_[i] < 0) return 0;
    const std::int64_t there = saved_.sources[static_cast<std::size_t>(same_[i])].used;
    return samples_of_length(there, length_, config_.data.sequence_length, data_.reader(i));
  }

  // State before the weights are those of the job: of the checkpoint, or without phases.
  BlendState carried() const {
    if (saved_.state && same_sources_and_length()) return *saved_.state;
    BlendState state;
    std::int64_t next_order = 0;
    for (const SavedSource& source : saved_.sources)
      next_order = std::max(next_order, source.order + 1);
    for (std::size_t i = 0; i < same_.size(); ++i) {
      state.used.push_back(used(i));
      state.orders.push_back(
          same_[i] < 0 ? next_order++ : saved_.sources[static_cast<std::size_t>(same_[i])].order);
    }
    const bool moved = length_ != config_.data.sequence_length;
    state.sample = moved ? std::accumulate(state.used.begin(), state.used.end(), std::int64_t{0})
                         : header_.samples;
    return state;
  }

  std::vector<std::string> changes(const BlendState& next) const {
    std::vector<std::string> lines;
    std::vector<std::string> parts;
    const bool all = same_.size() == saved_.sources.size() &&
                     std::ranges::none_of(same_, [](int found) { return found < 0; });
    for (std::size_t i = 0; i < same_.size(); ++i) {
      parts.push_back(same_[i] < 0
                          ? data_.name(i) + " begins anew"
                          : fmt::format("{} goes on behind {}", data_.name(i),
                                        epochs_text(next.used[i], data_.reader(i).samples())));
      if (same_[i] < 0) continue;
      const auto& there = saved_.sources[static_cast<std::size_t>(same_[i])];
      if (there.tokens && *there.tokens != data_.reader(i).tokens())
        lines.push_back(fmt::format(
            "{} has {} tokens now and had {} in the checkpoint: its next samples may repeat some "
            "data and skip other data",
            data_.name(i), data_.reader(i).tokens(), *there.tokens));
    }
    for (std::size_t j = 0; j < saved_.sources.size(); ++j)
      if (std::ranges::find(same_, static_cast<int>(j)) == same_.end())
        parts.push_back(fmt::format("{} is left out after {} samples",
                                    saved_.sources[j].files.front(), saved_.sources[j].used));
    if (saved_.state && next == *saved_.state) return lines;
    const bool weights = saved_.state && all && length_ == config_.data.sequence_length;
    lines.push_back(fmt::format("resumed with other {} of data.train, from sample {} on: {}",
                                weights ? "weights" : "sources", next.sample,
                                fmt::join(parts, "; ")));
    return lines;
  }

  const CheckpointHeader& header_;
  const Config& config_;
  const TrainingData& data_;
  SavedData saved_;
  std::vector<int> same_;  // by source of the job: that of the checkpoint
  std::int64_t length_;    // of a sample in the checkpoint's run
};

}  // namespace

std::string data_state_text(const TrainingData& data, std::int64_t sample) {
  const BlendState state = data.state_at(sample);
  const BlendState plain{{{0, {1}}}, {0}, {0}, sample, {sample}};
  if (!data.blends() && state == plain) return {};
  json phases = json::array();
  for (const BlendPhase& phase : state.phases)
    phases.push_back({{"begin", phase.begin}, {"units", phase.units}});
  Counts tokens;
  for (std::size_t i = 0; i < data.sources(); ++i) tokens.push_back(data.reader(i).tokens());
  return json{{"phases", phases},
              {"base", state.base},
              {"orders", state.orders},
              {"used", state.used},
              {"tokens", tokens}}
      .dump();
}

std::string with_data_state(const std::string& job, const std::string& state) {
  if (state.empty()) return job;
  auto root = nlohmann::ordered_json::parse(job);
  root["triax"][data_state_key] = nlohmann::ordered_json::parse(state);
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

DataStart resume_data(const CheckpointHeader& header, const LoadedJob& job,
                      const TrainingData& data) {
  if (!blends_data(header, job.config.data)) return {resume_sample(header, job.config.data, data)};
  return Resumption(header, job, data).start();
}

BlendState with_weights(BlendState state, const Config& config, std::int64_t step) {
  std::vector<BlendPhase> phases =
      config.data.sources.empty()
          ? std::vector<BlendPhase>{{state.sample, {1}}}
          : blend_phases(config.data, step, state.sample, config.batch.global);
  if (!state.phases.empty() &&
      phases_from(state.phases, state.sample) == phases_from(phases, state.sample))
    return state;
  state.phases = std::move(phases);
  state.base = state.used;
  return state;
}

}  // namespace triax
