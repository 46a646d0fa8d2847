// SPDX-License-Identifier: Apache-2.0
// Forms of rotary positions in a config.json, and older names of keys, made one.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "src/config/model/model_source.hpp"

namespace triax {
namespace {
using nlohmann::json;

constexpr const char* section = "model.";

}  // namespace

namespace {

// Moves original_max_position_embeddings from beside rope_scaling into it, where it overrides the
// key of that name, as at Hugging Face.
void move_original_context(ModelSource& source) {
  constexpr const char* key = "original_max_position_embeddings";
  json& root = source.root;
  if (!root.contains(key) || root[key].is_null()) return;
  const json rope = root.value("rope_scaling", json());
  if (!rope.is_null() && !rope.is_object()) return;
  root["rope_scaling"][key] = root[key];
  root.erase(key);
  source.written_as.try_emplace("model.rope_scaling", std::string(section) + key);
  source.written_as[std::string("model.rope_scaling.") + key] = std::string(section) + key;
}

// Takes the bases by type of block from rope_parameters beside rope_scaling, which has none.
void take_nested_bases(ModelSource& source, const std::string& home) {
  const json nested = source.root.value("rope_parameters", json());
  if (home != "rope_scaling" || !nested.is_object()) return;
  for (const auto& [type, key] :
       {std::pair{"full_attention", "rope_theta"}, {"sliding_attention", "rope_local_base_freq"}}) {
    const json::json_pointer base(std::string("/") + type + "/rope_theta");
    if (!nested.contains(base)) continue;
    source.root[key] = nested[base];
    source.written_as[std::string(section) + key] =
        fmt::format("model.rope_parameters.{}.rope_theta", type);
  }
}

// Converts rope_parameters to rope_theta, partial_rotary_factor and rope_scaling.
void move_rope_parameters(ModelSource& source) {
  json& root = source.root;
  const auto scales = [&](const char* key) {
    return root.contains(key) && root[key].is_object() && !root[key].empty();
  };
  // If a file has both, Hugging Face uses rope_scaling.
  const std::string home = scales("rope_scaling")      ? "rope_scaling"
                           : scales("rope_parameters") ? "rope_parameters"
                                                       : "";
  if (home.empty()) return;
  json rope = root[home];
  take_nested_bases(source, home);
  root.erase("rope_parameters");
  root["rope_scaling"] = json::object();
  source.written_as["model.rope_scaling"] = section + home;
  for (const auto& [key, value] : rope.items()) {
    if (key == "type" && rope.value("rope_type", json()) == value) continue;
    const bool older = key == "type" && !rope.contains("rope_type");
    const bool outside =
        (key == "rope_theta" || key == "partial_rotary_factor") && !value.is_null();
    if (outside) root[key] = value;
    if (!outside) root["rope_scaling"][older ? "rope_type" : key] = value;
    source.written_as[outside ? section + key
                      : older ? "model.rope_scaling.rope_type"
                              : "model.rope_scaling." + key] =
        fmt::format("model.{}.{}", home, key);
  }
}

}  // namespace

void normalise(ModelSource& source) {
  move_rope_parameters(source);
  move_original_context(source);
}

namespace {

// Gives the key `from` its newer name `to`. If a file has both, the older counts, unless the newer
// stood in rope_parameters: as at Hugging Face.
void rename(ModelSource& source, const std::string& from, const std::string& to) {
  json& root = source.root;
  if (!root.contains(from)) return;
  if (!root.contains(to) || !source.written_as.contains(section + to)) {
    root[to] = root[from];
    source.written_as[section + to] = section + from;
  }
  root.erase(from);
}

// Whether rotary positions have nothing but a base.
bool is_plain(const json& rope) {
  for (const auto& [key, value] : rope.items()) {
    const bool kind = key == "rope_type" || key == "type";
    if (kind ? value != "default" : key != "rope_theta") return false;
  }
  return true;
}

// Takes apart rotary positions by type of block: those of full_attention are rope_scaling and
// rope_theta, the base of those in a window is rope_local_base_freq.
void split_rope(ModelSource& source) {
  json& root = source.root;
  if (!root.contains("rope_scaling") || !root["rope_scaling"].is_object()) return;
  json rope = root["rope_scaling"];
  if (!rope.contains("full_attention") && !rope.contains("sliding_attention")) return;
  const std::string home = source.written_as["model.rope_scaling"];
  const json local = rope.value("sliding_attention", json::object());
  const json own = rope.value("full_attention", json::object());
  if (!own.is_object() || !local.is_object()) return;
  if (is_plain(local)) rope.erase("sliding_attention");
  rope.erase("full_attention");
  root["rope_scaling"] = rope;
  if (local.contains("rope_theta")) {
    root["rope_local_base_freq"] = local["rope_theta"];
    source.written_as["model.rope_local_base_freq"] = home + ".sliding_attention.rope_theta";
  }
  for (const auto& [key, value] : own.items()) {
    const bool theta = key == "rope_theta";
    const std::string name = key == "type" && !own.contains("rope_type") ? "rope_type" : key;
    (theta ? root : root["rope_scaling"])[name] = value;
    source.written_as[(theta ? section : "model.rope_scaling.") + name] =
        home + ".full_attention." + key;
  }
}

}  // namespace

void adapt(ModelSource& source, const Family& family) {
  for (const auto& [name, meant] : family.old_keys) rename(source, name, meant);
  if (family.local_rope) split_rope(source);
  const json::json_pointer path("/rope_scaling/rope_type");
  for (const auto& [name, meant] : family.rope_kinds)
    if (source.root.contains(path) && source.root[path] == name) source.root[path] = meant;
}

}  // namespace triax
