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

bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void add_names(Names& texts, const Names& names, const char* fate) {
  if (!names.empty()) texts.push_back(fmt::format("{} {}", fmt::join(names, " and "), fate));
}

}  // namespace

std::string state_group(const std::string& state) {
  return root + state + "/";
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

std::string starts_text(const Optimizer& optimizer) {
  json starts = json::object();
  for (std::size_t k = 0; k < optimizer.states().size(); ++k)
    if (optimizer.starts()[k] > 0) starts[optimizer.states()[k].name] = optimizer.starts()[k];
  return starts.empty() ? "" : starts.dump();
}

Optimizer::Starts starts_of(const CheckpointReader& reader, const std::vector<StateKind>& states,
                            std::int64_t updates) {
  const json job = json::parse(reader.header().job, nullptr, false);
  const json::json_pointer place(std::string("/triax/") + starts_key);
  const json saved = job.is_object() && job.contains(place) ? job[place] : json::object();
  const Names there = saved_states(reader);
  Optimizer::Starts starts{};
  for (std::size_t k = 0; k < states.size(); ++k) {
    const std::string name = states[k].name;
    const json start = saved.is_object() && saved.contains(name) ? saved[name] : json(0);
    if (!contains(there, name))
      starts[k] = updates;
    else if (start.is_number_integer())
      starts[k] = std::clamp<std::int64_t>(start.get<std::int64_t>(), 0, updates);
  }
  return starts;
}

std::string state_text(const CheckpointReader& reader, const std::vector<StateKind>& states) {
  const Names saved = saved_states(reader);
  Names kept, fresh, dropped, texts;
  for (const StateKind& state : states)
    (contains(saved, state.name) ? kept : fresh).emplace_back(state.name);
  for (const std::string& name : saved)
    if (!contains(kept, name)) dropped.push_back(name);
  if (saved.empty() || (fresh.empty() && dropped.empty())) return {};
  add_names(texts, kept, "from the checkpoint");
  add_names(texts, fresh, "from zero");
  add_names(texts, dropped, "dropped");
  return fmt::format("resumed with another optimizer's state: {}", fmt::join(texts, ", "));
}

}  // namespace triax
