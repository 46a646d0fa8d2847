// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/resume_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/job_changes.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/recipe/lr_report.hpp"

namespace triax {
namespace {

using nlohmann::json;

const char* const tokens_key = "triax.data_tokens";
const char* const losses_key = "triax.losses";
const char* const validation_key = "triax.validation";

// Value of a dotted key; null if there is none.
json saved_value(const std::string& job, std::string key) {
  const json root = json::parse(job, nullptr, false);
  std::ranges::replace(key, '.', '/');
  const json::json_pointer place("/" + key);
  return root.is_object() && root.contains(place) ? root[place] : json();
}

std::string changed_data(const CheckpointHeader& header, const SampleReader& reader) {
  const auto there = saved_integer(header.job, tokens_key);
  if (!there || *there == reader.tokens()) return {};
  return fmt::format(
      "resumed with other training data: {} tokens in the checkpoint, {} now. The next samples may "
      "repeat some data and skip other data",
      *there, reader.tokens());
}

std::string moved_position(const CheckpointHeader& header, const DataConfig& data,
                           const SampleReader& reader) {
  const auto there = saved_integer(header.job, "data.seq_length");
  if (!there || *there == data.sequence_length || header.samples == 0) return {};
  if (data.shuffle)
    return fmt::format(
        "samples of {} tokens are shuffled in a new order: this epoch may repeat some data and "
        "miss other data",
        data.sequence_length);
  return fmt::format(
      "{} samples of {} tokens in the checkpoint are {} samples of {} tokens now: the run "
      "continues there",
      header.samples, *there, resume_sample(header, data, reader), data.sequence_length);
}

std::string moved_rate(const CheckpointHeader& header, const Config& config, std::int64_t update) {
  const auto steps = saved_integer(header.job, "run.steps");
  if (!steps || saved_value(header.job, "scheduler.type") != config.scheduler.type) return {};
  return moved_end(config, *steps, update);
}

}  // namespace

std::optional<std::int64_t> saved_integer(const std::string& job, const std::string& key) {
  const json value = saved_value(job, key);
  if (!value.is_number_integer()) return {};
  return value.get<std::int64_t>();
}

// Adds to the section "triax" that job.json has too; loading a job ignores these keys.
std::string job_for_checkpoint(const std::string& resolved, std::int64_t tokens,
                               const std::string& losses, const std::string& starts,
                               const std::string& tokenizer, const std::string& validation) {
  auto job = nlohmann::ordered_json::parse(resolved);
  job["triax"]["data_tokens"] = tokens;
  if (!losses.empty()) job["triax"]["losses"] = nlohmann::ordered_json::parse(losses);
  if (!validation.empty()) job["triax"]["validation"] = nlohmann::ordered_json::parse(validation);
  if (!starts.empty()) job["triax"][starts_key] = nlohmann::ordered_json::parse(starts);
  if (!tokenizer.empty()) job["triax"][tokenizer_key] = nlohmann::ordered_json::parse(tokenizer);
  return job.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string resume_losses(const CheckpointHeader& header, const std::string& resolved) {
  const json losses = saved_value(header.job, losses_key);
  return losses.is_object() && same_training_data(header.job, resolved) ? losses.dump() : "";
}

std::string resume_validation(const CheckpointHeader& header, const std::string& resolved) {
  const json state = saved_value(header.job, validation_key);
  for (const char* key : {"data.seq_length", "run.eval_steps", "data.format", "loss.type",
                          "data.validation_fraction", "data.valid_rows"})
    if (saved_value(header.job, key) != saved_value(resolved, key)) return {};
  if (state.is_object() && !saved_value(resolved, "data.validation_fraction").is_null())
    return same_training_data(header.job, resolved) ? state.dump() : "";
  const auto files = [](const std::string& job) {
    return saved_value(job, "data.valid").get<std::vector<std::string>>();
  };
  if (!state.is_object() || !saved_value(header.job, "data.valid").is_array() ||
      !saved_value(resolved, "data.valid").is_array() ||
      !same_files(files(header.job), files(resolved)))
    return {};
  return state.dump();
}

bool blends_data(const CheckpointHeader& header, const DataConfig& data) {
  return !data.sources.empty() ||
         !saved_value(header.job, std::string("triax.") + data_state_key).is_null();
}

std::int64_t resume_sample(const CheckpointHeader& header, const DataConfig& data,
                           const SampleReader& reader) {
  const std::int64_t here = data.sequence_length;
  const std::int64_t there = saved_integer(header.job, "data.seq_length").value_or(here);
  return samples_of_length(header.samples, there, here, reader);
}

std::int64_t samples_of_length(std::int64_t samples, std::int64_t there, std::int64_t here,
                               const SampleReader& reader) {
  if (there == here || there < 1) return samples;
  // Labels are shifted by one token: an epoch of N tokens has (N - 1) / T samples.
  const std::int64_t epoch = std::max<std::int64_t>(1, (reader.tokens() - 1) / there);
  const std::int64_t tokens = samples % epoch * there;
  return samples / epoch * reader.samples() +
         std::min((tokens + here - 1) / here, reader.samples());
}

std::vector<std::string> resume_changes(const CheckpointHeader& header, const LoadedJob& job,
                                        const SampleReader& reader, std::int64_t update) {
  std::vector<std::string> lines = job_changes(header.job, job.resolved);
  for (std::string& line : model_changes(header, job.config.model))
    lines.push_back(std::move(line));
  if (header.step >= job.config.run.steps)
    return lines;  // no step is left: changed data do not matter
  std::vector<std::string> more = {moved_rate(header, job.config, update)};
  if (!blends_data(header, job.config.data))
    more.insert(more.begin(),
                {changed_data(header, reader), moved_position(header, job.config.data, reader)});
  for (std::string& line : more)
    if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

bool computes_other_losses(const CheckpointHeader& header, const LoadedJob& job) {
  return !same_losses(header.job, job.resolved) || !model_changes(header, job.config.model).empty();
}

}  // namespace triax
