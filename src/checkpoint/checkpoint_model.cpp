// SPDX-License-Identifier: Apache-2.0
// Whether a checkpoint holds the model of a run, and how it differs.
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/config/model/huggingface.hpp"

namespace triax {
namespace {

// Keys of rotary positions. They may change to extend the context of a trained model. (Learned
// positions are a tensor of n_positions rows and may not.)
bool turns_positions(const std::string& key) {
  return key == "max_position_embeddings" || key == "original_max_position_embeddings" ||
         key == "rope_theta" || key == "rope_scaling" || key == "rope_parameters" ||
         key == "rope_local_base_freq" || key == "rotary_emb_base";
}

// Keys of config.json that may change when a run is resumed: they change no tensor's shape and,
// except for rotary positions, not the trained function.
bool may_change(const std::string& key) {
  return key.ends_with("pdrop") || key.ends_with("dropout") || key == "initializer_range" ||
         key.ends_with("_token_id") || turns_positions(key);
}

// Calls visit(key, value in the checkpoint, value in the job) for each key of config.json that
// differs.
template <class Visit>
void each_difference(const CheckpointHeader& header, const ModelConfig& model, Visit&& visit) {
  if (header.model.empty()) return;
  const auto saved = nlohmann::json::parse(
      huggingface_config(model_from_huggingface(header.model, "the checkpoint's model")));
  const auto wanted = nlohmann::json::parse(huggingface_config(model));
  auto both = saved;
  both.update(wanted);
  for (const auto& [key, _] : both.items()) {
    const auto value = wanted.value(key, nlohmann::json());
    if (const auto there = saved.value(key, nlohmann::json()); there != value)
      visit(key, there.dump(), value.dump());
  }
}

using Texts = std::vector<std::string>;

// Tensors of the same names and shapes may still be another model: heads, epsilons.
Texts other_keys(const CheckpointHeader& header, const ModelConfig& model) {
  Texts texts;
  Texts family;
  each_difference(
      header, model,
      [&](const std::string& key, const std::string& there, const std::string& here) {
        if (may_change(key)) return;
        Texts& to = key == "model_type" ? family : texts;
        to.push_back(fmt::format("{} is {} in the checkpoint, {} in the job", key, there, here));
      });
  return family.empty() ? texts : family;  // between families every key differs
}

// Trainability in the run that wrote the file, from its job. An import holds no job.
Trainability trained_there(const CheckpointHeader& header) {
  if (holds_adapters(header)) return {.train_only = {"*"}};  // of what it holds
  const auto job = nlohmann::json::parse(header.job, nullptr, false);
  const auto patterns = [&](const char* key) {
    Texts list;
    if (!job.is_object() || !job.contains(key)) return list;
    const auto& value = job[key];
    if (value.is_string()) list.push_back(value.get<std::string>());
    if (value.is_array()) list = value.get<Texts>();
    return list;
  };
  return {patterns("freeze"), patterns("train_only")};
}

// Adds one text per tensor of `group` that the file lacks or has in another shape. The file has
// only the weights of a tensor that was frozen in the run that wrote it.
void add_other_tensors(
    Texts& texts, const CheckpointReader& reader, const ModelConfig& model,
    const std::string& group,
    const std::function<bool(const GlobalTensor&)>& has = [](const GlobalTensor&) {
      return true;
    }) {
  const Trainability there = trained_there(reader.header());
  for (const GlobalTensor& tensor : global_tensors(model)) {
    if (group != weight_group && !is_trained(there, tensor.name)) continue;
    if ((model.lora && !tensor.adapter) || !has(tensor)) continue;
    const std::string name = group + tensor.name;
    if (!reader.contains(name))
      texts.push_back(fmt::format("the checkpoint has no tensor {}", name));
    else if (const Shape shape = reader.shape(name); shape != tensor.shape)
      texts.push_back(fmt::format("tensor {} has shape {} in the checkpoint, {} in the job", name,
                                  shape.text(), tensor.shape.text()));
  }
}

// Whether the file has any tensor of the group. Master weights and states of frozen tensors are
// absent.
bool has_group(const CheckpointReader& reader, const ModelConfig& model, const char* group) {
  return std::ranges::any_of(global_tensors(model), [&](const GlobalTensor& tensor) {
    return reader.contains(group + tensor.name);
  });
}

}  // namespace

std::string newly_trained(const CheckpointReader& reader, const ModelConfig& model) {
  if (saved_states(reader).empty()) return {};
  const Trainability there = trained_there(reader.header());
  const auto count = std::ranges::count_if(global_tensors(model), [&](const GlobalTensor& tensor) {
    return tensor.trained && !is_trained(there, tensor.name);
  });
  if (count == 0) return {};
  return fmt::format(
      "{} tensors were frozen in the checkpoint and are trained now: their optimizer states start "
      "from zero",
      count);
}

std::vector<std::string> model_changes(const CheckpointHeader& header, const ModelConfig& model) {
  std::vector<std::string> lines;
  each_difference(
      header, model,
      [&](const std::string& key, const std::string& there, const std::string& here) {
        if (!may_change(key) || key == "initializer_range") return;
        lines.push_back(fmt::format("resumed with another model.{}: {} in the checkpoint, {} now",
                                    key, there, here));
      });
  return lines;
}

void check_same_model(const CheckpointReader& reader, const ModelConfig& model,
                      const Ranks& ranks) {
  agreed(ranks, [&] {
    Texts texts = adapter_differences(reader.header(), model);
    if (texts.empty()) texts = other_keys(reader.header(), model);
    if (texts.empty() && model.lora) check_base(reader.header(), reader.path(), model.weights);
    const bool other = !texts.empty() || reader.header().model.empty();
    Texts tensors;
    add_other_tensors(tensors, reader, model, weight_group);
    if (has_group(reader, model, master_group))
      add_other_tensors(tensors, reader, model, master_group);
    const std::vector<StateKind> written = states_of_writer(reader);
    for (const std::string& state : saved_states(reader))
      add_other_tensors(tensors, reader, model, state_group(state), [&](const GlobalTensor& of) {
        return has_saved_state(written, state, of);
      });
    if (has_average(reader)) add_other_tensors(tensors, reader, model, average_group);
    constexpr std::size_t shown = 3;
    for (std::size_t n = 0; n < std::min(shown, tensors.size()); ++n) texts.push_back(tensors[n]);
    if (tensors.size() > shown)
      texts.push_back(fmt::format("{} more tensors", tensors.size() - shown));
    if (texts.empty()) return;
    const std::string why = fmt::format("{}", fmt::join(texts, "; "));
    if (!other)
      throw Error(reader.path() + " lacks tensors of the model that it names", why,
                  "Resume an earlier checkpoint");
    throw UsageError(fmt::format("the checkpoint {} holds another model", reader.path()), why,
                     "Use the model section that it was written with, name a checkpoint of this "
                     "model in checkpoint.resume or checkpoint.directory, or set checkpoint.resume "
                     "to \"never\"");
  });
}

}  // namespace triax
