// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/reference.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/config/preference.hpp"
#include "src/data/chat/prepare.hpp"
#include "src/data/chat/reference_file.hpp"
#include "src/data/mixture/source_names.hpp"

namespace triax {
namespace {

// Fingerprint of the weights of a directory, and when its files were last written: a model that is
// made again may differ in no byte that the fingerprint reads.
std::string text_of_weights(const std::string& directory) {
  std::error_code ignored;
  std::vector<std::string> written;
  for (const auto& file : std::filesystem::directory_iterator(directory, ignored))
    if (file.path().extension() == ".safetensors")
      written.push_back(fmt::format(
          "{} written {}\n", file.path().filename().string(),
          std::filesystem::last_write_time(file.path(), ignored).time_since_epoch().count()));
  std::ranges::sort(written);
  return base_fingerprint(directory) + fmt::format("{}", fmt::join(written, ""));
}

// The model that training starts from: shape, weights, and the type in which it computes.
std::string text_of_start(const Config& config) {
  const ModelConfig& model = config.model;
  const LoraConfig& lora = model.lora;
  std::string text = fmt::format("1 {}{} T {}\n{}\n", name_of(config.precision.type),
                                 config.precision.fp8 ? " fp8" : "", config.data.sequence_length,
                                 huggingface_config(model));
  if (model.kept) text += "kept in " + model.kept.format + "\n";
  text += model.weights.empty() ? fmt::format("fresh {}\n", config.run.seed)
                                : text_of_weights(model.weights);
  if (!lora.from.empty())
    text += fmt::format("adapter {}\n{}", lora.keys, text_of_weights(lora.from));
  if (lora && lora.start == LoraStart::random)
    text += fmt::format("random adapter {} {}\n", config.run.seed, lora.keys);
  return text;
}

// Contents of a file of log-probabilities; empty where there is none, or none that can be used.
std::vector<double> found_log_probs(const std::string& path, std::int64_t pairs) {
  if (!std::filesystem::exists(path)) return {};
  try {
    return read_reference(path, pairs);
  } catch (const Error& error) {
    spdlog::warn("reference: {}. It is made anew", error.what());
    return {};
  }
}

}  // namespace

void check_reference(const CheckpointHeader& resumed, const Config& config) {
  if (!needs_reference(config)) return;
  const auto type = nlohmann::json::parse(resumed.job)
                        .value(nlohmann::json::json_pointer("/loss/type"), "next_token");
  const PreferenceLoss* const loss = find_preference_loss(type);
  if (loss != nullptr && loss->reference) return;
  throw UsageError(
      fmt::format("the checkpoint was trained by loss.type \"{}\", without a reference", type),
      fmt::format("\"{}\" compares with the weights that the run starts from, those of model.from, "
                  "and the checkpoint is past them",
                  config.loss.type),
      "Export the checkpoint (triax checkpoint export FILE --to huggingface DIR), and start a run "
      "in another run.directory with model.from DIR");
}

Reference::Reference(RankState& rank)
    : rank_(rank),
      executor_(rank.stream, rank.plan.steps.evaluation[rank.stage_index()], rank.stage,
                rank.layout, rank.shape, rank.buffers, rank.messages, rank.store, nullptr,
                rank.grid),
      valid_(1) {
  const std::vector<std::vector<std::string>> train = source_files(rank.config.data);
  train_.resize(train.size());
  agreed(rank.grid, [&] {
    if (rank.grid.rank() == 0) model_ = text_of_start(rank.config);
  });
  for (std::size_t i = 0; i < train.size(); ++i) add(train[i], train_[i]);
  if (!rank.config.data.valid.empty()) add(rank.config.data.valid, valid_.front());
}

// Finds the files of a source, and where their pairs lie in it.
void Reference::add(const std::vector<std::string>& names, std::vector<double>& log_probs) {
  const std::int64_t length = rank_.config.data.sample_length();
  const TokenReader reader = open_reader(rank_.config, rank_.grid, names, false, false);
  const std::vector<std::int64_t> tokens = reader.file_tokens();
  Source source{names, {}, &log_probs};
  std::int64_t first = 0;
  for (std::size_t f = 0; f < names.size(); ++f) {
    const bool last = f + 1 == names.size();
    const std::int64_t pairs = last ? reader.samples() - first : tokens[f] / length;
    source.files.push_back({names[f], {}, first, pairs});
    first += pairs;
  }
  log_probs.assign(static_cast<std::size_t>(2 * first), 0.0);
  find(source);
  sources_.push_back(std::move(source));
}

// Reads the files that there are, on rank 0, and tells all ranks.
void Reference::find(Source& source) {
  const std::string directory =
      (std::filesystem::path(rank_.config.run.directory) / prepared_directory).string();
  std::vector<std::int64_t> found(source.files.size());
  agreed(rank_.grid, [&] {
    if (rank_.grid.rank() != 0) return;
    for (std::size_t f = 0; f < source.files.size(); ++f) {
      File& file = source.files[f];
      file.path = reference_path(directory, file.token_file, model_);
      const std::vector<double> log_probs = found_log_probs(file.path, file.pairs);
      std::ranges::copy(log_probs, source.log_probs->begin() + 2 * file.first);
      found[f] = log_probs.empty() ? 0 : 1;
      if (found[f] != 0)
        spdlog::info("reference: log-probabilities of {} are in {}", file.token_file, file.path);
    }
  });
  broadcast_numbers(rank_.grid, found, 0);
  sum_over_ranks(rank_.grid, *source.log_probs);  // rank 0's: the others have zeros
  for (std::size_t f = 0; f < found.size(); ++f) {
    source.files[f].found = found[f] != 0;
    missing_ |= !source.files[f].found;
  }
}

void Reference::make() {
  for (const Source& source : sources_) {
    const TokenReader reader = open_reader(rank_.config, rank_.grid, source.names, false, true);
    for (const File& file : source.files)
      if (!file.found) make(source, file, reader);
  }
  missing_ = false;
}

void Reference::make(const Source& source, const File& file, const TokenReader& reader) {
  const auto begin = std::chrono::steady_clock::now();
  const std::span<double> log_probs = std::span(*source.log_probs)
                                          .subspan(static_cast<std::size_t>(2 * file.first),
                                                   static_cast<std::size_t>(2 * file.pairs));
  if (rank_.grid.rank() == 0)
    spdlog::info("reference: computing log-probabilities of the {} pairs of {}", file.pairs,
                 file.token_file);
  compute(reader, file, log_probs);
  sum_over_ranks(rank_.grid, log_probs);
  agreed(rank_.grid, [&] {
    const auto bad =
        std::ranges::find_if(log_probs, [](double value) { return !std::isfinite(value); });
    if (bad != log_probs.end())
      throw Error("the reference model gives a log-probability that is not finite",
                  fmt::format("pair {} of {}", (bad - log_probs.begin()) / 2, file.token_file),
                  "Check the weights of model.from; bf16 or fp32 instead of fp16 has more range");
    if (rank_.grid.rank() == 0) write_reference(file.path, log_probs, model_);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (rank_.grid.rank() == 0)
    spdlog::info("reference: {} is written, after {:.1f} s", file.path, seconds.count());
}

// Fills in the pairs of this data rank; each pair is filled in by one rank.
void Reference::compute(const TokenReader& reader, const File& file, std::span<double> log_probs) {
  const bool counts = rank_.stage.has_head() && rank_.grid.tensor_rank() == 0;
  BatchLoader& batch = rank_.batch;
  const std::int64_t micro = rank_.config.batch.micro, end = file.first + file.pairs;
  for (std::int64_t first = file.first; first < end; first += rank_.config.batch.global) {
    rank_.grid.drain(batch.pushed());
    if (reads_batches(rank_.stage, rank_.shape)) {
      const FileScope working(rank_.grid.watch());
      batch.load(rank_.stream, reader, first, end);
    }
    StepInput input;
    input.batch = &batch;
    input.pairs = pair_options(rank_.config, 0.0, 0.0);
    input.makes_reference = true;
    executor_.run(input);
    if (!counts) continue;
    batch.pull(rank_.stream);
    for (int m = 0; m < batch.microbatches(); ++m) {
      const std::int64_t number = first + batch.first_sample(m);
      const std::int64_t there = std::clamp<std::int64_t>(end - number, 0, micro);
      if (there == 0) continue;
      std::ranges::copy(batch.written(m).first(static_cast<std::size_t>(2 * there)),
                        log_probs.begin() + 2 * (number - file.first));
    }
  }
}

}  // namespace triax
