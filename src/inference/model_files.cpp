// SPDX-License-Identifier: Apache-2.0
#include "src/inference/model_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/files/fingerprint.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/state/weights/initial_weights.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

std::string config_of(const std::string& directory) {
  const std::string path = directory + "/config.json";
  std::ifstream file(path);
  std::ostringstream text;
  if (!(text << file.rdbuf()))
    throw UsageError(fmt::format("{} is no model directory", directory),
                     "its config.json is absent, empty or not readable",
                     "Give a checkpoint of triax, or a directory with config.json and "
                     "model.safetensors");
  return text.str();
}

}  // namespace

std::int64_t trained_length(const CheckpointHeader& header) {
  const ModelConfig model = model_from_huggingface(header.model, "the checkpoint's model");
  // Rotary positions that stretch themselves serve lengths that were never trained.
  if (longest_sequence(model) > model.positions) return longest_sequence(model);
  // Weights of model.from may have been trained on longer sequences than this job's.
  const nlohmann::json job = nlohmann::json::parse(header.job, nullptr, false);
  const nlohmann::json::json_pointer from("/model/from");
  const bool elsewhere = job.contains(from) && !job[from].is_null();
  const auto length = elsewhere ? std::nullopt : saved_integer(header.job, "data.seq_length");
  if (length && *length >= 1) return *length;
  return model.positions;
}

ModelFiles::ModelFiles(std::string path, const Ranks& ranks) : path_(std::move(path)) {
  std::error_code ignored;
  if (!fs::is_directory(path_, ignored)) {
    checkpoint_.emplace(path_, ranks);
    if (!checkpoint_->has_checksums())
      warnings_.push_back(path_ + " has no checksums: its data cannot be verified");
    agreed(ranks, [&] { model_ = model_of(checkpoint_->header()); });
    return;
  }
  agreed(ranks, [&] {
    model_ = model_from_huggingface(config_of(path_), path_ + "/config.json", &warnings_);
  });
}

std::int64_t ModelFiles::trained_length() const {
  const std::int64_t length =
      checkpoint_ ? triax::trained_length(checkpoint_->header()) : model_.positions;
  return std::min<std::int64_t>(length, model_.positions);
}

DType ModelFiles::type(SavedWeights weights) const {
  if (!checkpoint_) return HuggingfaceWeights(path_, model_).type();
  if (weights == SavedWeights::average || model_.lora) return DType::f32;
  const std::vector<GlobalTensor> tensors = global_tensors(model_);
  const auto of = [&](const GlobalTensor& tensor) {
    const std::string name = weight_group + tensor.name;
    return checkpoint_->contains(name) ? checkpoint_->tensor(name).dtype : DType::f32;
  };
  const DType first = of(tensors.front());
  const bool common =
      std::ranges::all_of(tensors, [&](const GlobalTensor& tensor) { return of(tensor) == first; });
  return common && (first == DType::bf16 || first == DType::f16) ? first : DType::f32;
}

std::string ModelFiles::fingerprint() const {
  if (checkpoint_) return triax::fingerprint(checkpoint_->path());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_))
    if (entry.path().extension() == ".safetensors" || entry.path().filename() == "config.json")
      names.push_back(entry.path().filename());
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names)
    text += name + " " + triax::fingerprint(path_ + "/" + name) + "\n";
  return text;
}

void ModelFiles::load(const Stream& stream, const ModelConfig& model, ParameterStore& store,
                      const Ranks& ranks, SavedWeights weights) const {
  agreed(ranks, [&] {
    if (weights == SavedWeights::trained) return;
    if (checkpoint_) return require_average(*checkpoint_);
    throw UsageError(path_ + " has no average of the weights", "it is a model directory",
                     "Give a checkpoint of a run with run.ema");
  });
  if (!checkpoint_) {
    agreed(ranks, [&] { load_weights(stream, store, model, path_); });
    return;
  }
  check_same_model(*checkpoint_, model, ranks);
  restore_model(stream, *checkpoint_, model, store, ranks, weights);
}

}  // namespace triax
