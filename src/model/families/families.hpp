// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of architectures. A row has the keys of a config.json both ways, and the spec of
// its layers; all else that triax does with an architecture is derived from its row.
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/model/families/block_spec.hpp"

namespace triax {

class ErrorList;
class Settings;
struct Key;

/// Another name of a key, or of a kind of rotary positions, in files of one family.
struct Alias {
  const char *name, *meant;
};

struct Family {
  const char* name;  // model_type of its config.json
  /// Classes of transformers that config.json may name under "architectures". An export names the
  /// first.
  std::vector<const char*> classes;
  BlockSpec block;
  /// Rows of the key table, without scope: the keys of its config.json with their defaults.
  std::vector<Key> (*keys)();
  /// Keys that every config.json of the family holds: the shape, of which transformers' defaults
  /// are that of one particular model.
  std::vector<const char*> sizes;
  /// Fills in what its keys say, and checks that they agree.
  void (*read)(Settings& settings, ModelConfig& model, ErrorList& errors);
  /// The keys of `model` for config.json: the inverse of `read`.
  void (*write)(const ModelConfig& model, nlohmann::ordered_json& root);
  std::vector<Alias> old_keys = {};    // older names of its keys
  std::vector<Alias> rope_kinds = {};  // its own names of kinds of rotary positions
  bool local_rope = false;             // blocks with a window have rotary positions of their own
};

/// All families, in the order in which errors and the reference list them.
std::span<const Family* const> all_families();
/// The family of that name; null: unknown.
const Family* find_family(const std::string& name);
/// The family that has a class of that name; null: unknown.
const Family* find_family_of_class(const std::string& name);
/// The family of a model.
const Family& family_of(const ModelConfig& model);
/// "gpt2, llama, ...": for errors.
std::string family_names();

}  // namespace triax
