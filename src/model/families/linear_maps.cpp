// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/linear_maps.hpp"

#include "src/model/families/families.hpp"

namespace triax {
namespace {

std::string without_weight(std::string name) {
  const std::string end = ".weight";
  if (name.ends_with(end)) name.resize(name.size() - end.size());
  return name;
}

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

}  // namespace

std::vector<std::string> linear_maps(const ModelConfig& model, int block) {
  const BlockNames& names = family_of(model).block.names;
  std::vector<std::string> maps;
  const auto add = [&](const char* name) {
    if (*name != '\0') maps.push_back(names.block + std::to_string(block) + "." + name);
  };
  for (const char* name : names.qkv)
    if (name != nullptr) add(name);
  add(names.attention_output);
  for (const char* name : names.mlp_input)
    if (name != nullptr) add(name);
  add(names.mlp_output);
  return maps;
}

std::vector<std::string> other_modules(const ModelConfig& model) {
  const BlockSpec& spec = family_of(model).block;
  std::vector<std::string> modules;
  const auto add = [&](const std::string& name) {
    if (!name.empty()) modules.push_back(without_weight(name));
  };
  add(spec.outside.token_embedding);
  add(spec.outside.position_embedding);
  add(spec.outside.final_norm);
  add(spec.outside.head);
  for (int block = 0; block < model.layers; ++block)
    for (const char* name :
         {spec.names.attention_norm, spec.names.attention_post_norm, spec.names.mlp_norm,
          spec.names.mlp_post_norm, spec.names.q_norm, spec.names.k_norm})
      if (*name != '\0') add(spec.names.block + std::to_string(block) + "." + name);
  return modules;
}

std::vector<std::string> usual_adapter_targets(const ModelConfig& model) {
  const BlockSpec& spec = family_of(model).block;
  if (spec.qkv != QkvLayout::three) return {last_part(spec.names.qkv[0])};
  return {last_part(spec.names.qkv[0]), last_part(spec.names.qkv[2])};
}

}  // namespace triax
