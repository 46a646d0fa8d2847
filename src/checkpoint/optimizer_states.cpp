// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/optimizer_states.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace triax {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr const char* root = "/optimizer/";
constexpr const char* tensors_key = "tensors";

bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The section that starts_text() made; empty if there is none.
json saved_starts(const CheckpointReader& reader) {
  const json job = json::parse(reader.header().job, nullptr, false);
  const json::json_pointer place(std::string("/triax/") + starts_key);
  const json saved = job.is_object() && job.contains(place) ? job[place] : json::object();
  return saved.is_object() ? saved : json::object();
}

// The number called `name`; 0: none.
std::int64_t start_of(const json& starts, const std::string& name, std::int64_t updates) {
  const json start = starts.is_object() && starts.contains(name) ? starts[name] : json(0);
  return start.is_number_integer() ? std::clamp<std::int64_t>(start.get<std::int64_t>(), 0, updates)
                                   : 0;
}

void add_names(Names& texts, const Names& names, const char* fate) {
  if (!names.empty()) texts.push_back(fmt::format("{} {}", fmt::join(names, " and "), fate));
}

}  // namespace

std::string state_group(const std::string& state) {
  return root + state + "/";
}

std::string state_group(const StateKind& state) {
  return std::string(state.root == nullptr ? "/" : state.root) + state.name + "/";
}

bool has_average(const CheckpointReader& reader) {
  return std::ranges::any_of(reader.tensors(), [](const CheckpointTensor& tensor) {
    return tensor.name.starts_with(average_group);
  });
}

Names saved_states(const CheckpointReader& reader) {
  const std::string prefix = root;
  std::set<std::string> names;
  for (const CheckpointTensor& tensor : reader.tensors())
    if (tensor.name.starts_with(prefix))
      names.insert(
          tensor.name.substr(prefix.size(), tensor.name.find('/', prefix.size()) - prefix.size()));
  return {names.begin(), names.end()};
}

std::vector<bool> carried_states(const Names& saved, const std::vector<StateKind>& states) {
  std::vector<bool> carried;
  for (const StateKind& state : states)
    carried.push_back(
        state.start == StateStart::weights ||
        (contains(saved, state.name) && (state.scale == nullptr || contains(saved, state.scale))));
  return carried;
}

std::string starts_text(const Optimizer& optimizer) {
  json starts = json::object();
  for (std::size_t k = 0; k < optimizer.states().size(); ++k)
    if (optimizer.starts()[k] > 0) starts[optimizer.states()[k].name] = optimizer.starts()[k];
  if (!optimizer.tensor_starts().empty()) starts[tensors_key] = optimizer.tensor_starts();
  return starts.empty() ? "" : starts.dump();
}

Optimizer::Starts starts_of(const CheckpointReader& reader, const std::vector<StateKind>& states,
                            std::int64_t updates) {
  const json saved = saved_starts(reader);
  const std::vector<bool> carried = carried_states(saved_states(reader), states);
  Optimizer::Starts starts{};
  for (std::size_t k = 0; k < states.size(); ++k)
    starts[k] = carried[k] ? start_of(saved, states[k].name, updates) : updates;
  return starts;
}

TensorStarts tensor_starts_of(const CheckpointReader& reader, const ModelConfig& model,
                              const std::vector<StateKind>& states, std::int64_t updates) {
  const json saved = saved_starts(reader).value(tensors_key, json::object());
  const Names there = saved_states(reader);
  TensorStarts starts;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    if (!tensor.trained) continue;
    const bool lacks = std::ranges::any_of(states, [&](const StateKind& state) {
      return state.start == StateStart::zero && state.of(tensor.matrix) &&
             contains(there, state.name) && !reader.contains(state_group(state) + tensor.name);
    });
    const std::int64_t start = lacks ? updates : start_of(saved, tensor.name, updates);
    if (start > 0) starts[tensor.name] = start;
  }
  return starts;
}

void require_average(const CheckpointReader& reader) {
  if (has_average(reader)) return;
  throw UsageError(reader.path() + " has no average of the weights",
                   "the run that wrote it kept none",
                   "Set run.ema.decay in the job, or leave out "
                   "--weights average");
}

std::string average_text(const CheckpointReader& reader, const std::vector<StateKind>& states) {
  const bool here =
      std::ranges::find(states, std::string_view(average_state), &StateKind::name) != states.end();
  if (here && !has_average(reader))
    return "the average of the weights (run.ema) begins here, from the checkpoint's weights";
  if (!here && has_average(reader))
    return "the checkpoint's average of the weights is dropped: run.ema is not set";
  return {};
}

std::vector<StateKind> states_of_writer(const CheckpointReader& reader) {
  const json job = json::parse(reader.header().job, nullptr, false);
  const json::json_pointer type("/optimizer/type");
  if (!job.is_object() || !job.contains(type) || !job[type].is_string()) return {};
  OptimizerConfig config;
  config.type = job[type].get<std::string>();
  const auto named = [&](const OptimizerRule* rule) { return config.type == rule->name; };
  if (std::ranges::none_of(optimizer_rules(), named)) return {};
  return states_of(config);
}

bool has_saved_state(const std::vector<StateKind>& written, const std::string& state,
                     const GlobalTensor& tensor) {
  const auto kind = std::ranges::find(written, std::string_view(state), &StateKind::name);
  return kind == written.end() || kind->of(tensor.matrix);
}

std::string state_text(const CheckpointReader& reader, const std::vector<StateKind>& states) {
  const Names saved = saved_states(reader);
  Names kept, fresh, dropped, texts;
  const std::vector<bool> carried = carried_states(saved, states);
  for (std::size_t k = 0; k < states.size(); ++k)
    if (states[k].start == StateStart::zero)
      (carried[k] ? kept : fresh).emplace_back(states[k].name);
  for (const std::string& name : saved)
    if (!contains(kept, name) && !contains(fresh, name)) dropped.push_back(name);
  if (saved.empty() || (fresh.empty() && dropped.empty())) return {};
  add_names(texts, kept, "from the checkpoint");
  add_names(texts, fresh, "from zero");
  add_names(texts, dropped, "dropped");
  return fmt::format("resumed with another optimizer's state: {}", fmt::join(texts, ", "));
}

}  // namespace triax
