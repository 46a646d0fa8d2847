// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "io/hub/hub_directory.hpp"
#include "kernels/base/check.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/config/model/model_source.hpp"
#include "src/config/source/file_look.hpp"
#include "src/config/source/find_input.hpp"
#include "src/config/source/json_lines.hpp"

namespace triax {
namespace {
using nlohmann::json;
namespace fs = std::filesystem;

void put(Settings& settings, const std::string& path, json value, const Origin& origin,
         const std::string& source) {
  settings.put(path, {std::move(value), source, origin, false, Treatment::obeyed});
}

// Keys of the family that are null in a source, where null is a value.
std::vector<const Key*> null_keys(const Settings& settings, const ModelSource& source) {
  std::vector<const Key*> keys;
  const std::string family = settings.type_of("model.");
  for (const Key& key : settings.table().keys()) {
    if (!key.may_be_null || std::ranges::find(key.scope, family) == key.scope.end()) continue;
    const std::string name = key.path.substr(std::string("model.").size());
    if (source.root.contains(name) && source.root[name].is_null()) keys.push_back(&key);
  }
  return keys;
}

// Defaults of all keys that no source sets. A source may say null where that is a value: for
// transformers, "num_key_value_heads": null is not its default number.
void put_defaults(Settings& settings, const std::vector<ModelSource>& sources) {
  std::vector<std::string> nulls;
  for (const ModelSource& source : sources)
    for (const Key* key : null_keys(settings, source))
      if (!settings.has(key->path)) nulls.push_back(key->path);
  take_defaults(settings, true);
  for (const std::string& path : nulls) put(settings, path, nullptr, {}, "default");
}

// Stores the family that the sources name; false if none or several are named.
bool take_family(Settings& settings, const std::vector<ModelSource>& sources, const Origin& section,
                 ErrorList& errors) {
  const Family* chosen = nullptr;
  Origin origin;
  ErrorList wrong;
  for (const auto& source : sources) {
    const auto* named = named_family(source, wrong);
    if (named == nullptr) continue;
    const Origin here = origin_of_family(source);
    if (chosen != nullptr && chosen != named) {
      wrong.add(here, std::string("model.architecture: ") + named->name + " contradicts " +
                          chosen->name + " (" + origin.text() + ")");
      chosen = nullptr;
      break;
    }
    chosen = named;
    origin = here;
  }
  if (chosen == nullptr && wrong.empty())
    wrong.add(section, "model.architecture: missing. Set it to one of " + family_names() +
                           ", or name a config.json in model.config");
  errors.add(wrong);
  if (chosen == nullptr) return false;
  put(settings, "model.architecture", chosen->name, origin, origin.text());
  return true;
}

// Takes the keys of all sources; a later source overrides the earlier ones.
void take_keys(Settings& settings, const std::vector<ModelSource>& sources, ErrorList& errors) {
  for (const auto& source : sources) {
    json keys = source.root;
    for (const auto* key : {"architecture", "model_type", "architectures", "from", "config"})
      keys.erase(key);
    const OriginOf origin_of = [&](const std::string& path) { return source.origin_of(path); };
    take_values(settings, keys, "model", origin_of, source.strict, errors);
    // A null is a value of some keys: it overrides an earlier source.
    for (const Key* key : null_keys(settings, source))
      settings.put(key->path, {nullptr, {}, {}, false, Treatment::obeyed});
  }
}

// Checks the job's own section alone when the rest is unknown: a file that cannot be read, or the
// family (`family` is null).
void judge_alone(Settings& settings, const ModelSource& own, const Family* family,
                 ErrorList& errors) {
  if (family == nullptr)
    settings.mark_wrong("model.architecture");
  else
    put(settings, "model.architecture", family->name, origin_of_family(own), {});
  take_keys(settings, {own}, errors);
}

// Takes the family, its keys from all sources and the defaults. False if no family or several are
// named.
bool take_sources(Settings& settings, std::vector<ModelSource>& sources, const Origin& section,
                  ErrorList& errors) {
  for (auto& source : sources) normalise(source);
  if (!take_family(settings, sources, section, errors)) {
    for (const auto& source : sources)
      if (source.strict) judge_alone(settings, source, nullptr, errors);
    return false;
  }
  const Family& family = *find_family(settings.string("model.architecture"));
  for (auto& source : sources) adapt(source, family);
  take_keys(settings, sources, errors);
  settings.place_unsaid(
      "model.", [sources](const std::string& path) { return place_of_unsaid(sources, path); });
  judge_unknown_keys(settings, errors);
  require_shape(settings, sources, errors);
  put_defaults(settings, sources);
  return true;
}

std::string token_ids(const Settings& s) {
  json ids = json::object();
  for (const std::string key : token_id_keys)
    if (s.has("model." + key)) ids[key] = s.at("model." + key).value;
  return ids.dump();
}

ModelConfig to_model(Settings& s, ErrorList& errors) {
  ModelConfig m;
  m.architecture = s.string("model.architecture");
  m.vocabulary = static_cast<int>(s.integer("model.vocab_size"));
  m.tied_embeddings = s.boolean("model.tie_word_embeddings");
  m.initializer_range = static_cast<float>(s.number("model.initializer_range"));
  m.token_ids = token_ids(s);
  family_of(m).read(s, m, errors);
  return m;
}

// Path under model.from or model.config; "" if unset, invalid or not found (the latter two are
// errors).
std::string named_path(const Settings& settings, const json& node, const std::string& key,
                       const JobTree& tree, ErrorList& errors) {
  if (!node.contains(key) || node[key].is_null()) return {};
  const auto path = "model." + key;
  const auto origin = tree.origin(path);
  if (const auto problem = problem_with(*settings.table().find(path), node[key])) {
    errors.add(origin, path + ": " + *problem);
    return {};
  }
  const auto [found, problem] = find_input(node[key], origin.line > 0 ? origin.file : tree.file);
  if (!problem.empty())
    errors.add(origin, path + ": " + problem);
  else if (found.empty())
    errors.add(origin, path + ": no such file or directory: " + node[key].get<std::string>());
  try {
    return found.empty() ? found : hub_snapshot(found);
  } catch (const UsageError& error) {
    errors.add(origin, path + ": " + error.what());
    return {};
  }
}

// Problem with the weights in the directory of model.from; empty: none.
std::string problem_with_weights(const std::string& directory) {
  for (const auto* name : {"model.safetensors", "model.safetensors.index.json"}) {
    const std::string file = (fs::path(directory) / name).string();
    const FileLook look = look_at(file);
    if (look.there || !look.problem.empty()) return look.problem;
    if (std::string problem = dangling_link(file); !problem.empty())
      return problem + ". Fetch the model again";
  }
  return "no model.safetensors in " + directory + ". For the shape alone, set model.config";
}

// Adds the config.json in directory `from`, else the file `config`; false if it cannot be read.
bool add_named(std::vector<ModelSource>& sources, const std::string& from,
               const std::string& config, const JobTree& tree, ErrorList& errors) {
  const std::string key = from.empty() ? "model.config" : "model.from";
  const auto file = from.empty() ? config : (fs::path(from) / "config.json").string();
  const auto fail = [&](const std::string& problem) {
    errors.add(tree.origin(key), key + ": " + problem);
    return false;
  };
  if (const FileLook look = look_at(file); !look.there)
    return fail(!look.problem.empty()          ? look.problem
                : !dangling_link(file).empty() ? dangling_link(file) + ". Fetch the model again"
                                               : "no config.json in " + from);
  else if (!look.special.empty())
    return fail(file + " is " + look.special +
                ", which only one process could read. Name a regular file");
  if (const auto problem = from.empty() ? "" : problem_with_weights(from); !problem.empty())
    fail(problem);
  std::string text;
  try {
    text = read_text(file);
  } catch (const UsageError& e) {
    return fail(std::string(e.what()) + ". Name a config.json that can be read");
  }
  try {
    sources.push_back(file_source(text, file, errors));
  } catch (const UsageError& e) {  // e.what() names the file and its line
    errors.add({}, e.what());
    return false;
  }
  return true;
}

}  // namespace

ModelConfig read_model(Settings& settings, const JobTree& tree, ErrorList& errors) {
  const Origin section = tree.origin("model");
  const auto node = tree.root.value("model", json(nullptr));
  if (!node.is_object()) {
    errors.add(section,
               node.is_null()
                   ? "model: missing. Give \"model\" with from, config or architecture and sizes"
                   : "model: expected an object, got " + node.dump());
    return {};
  }
  const auto from = named_path(settings, node, "from", tree, errors);
  const auto config = named_path(settings, node, "config", tree, errors);
  if (!from.empty() && !config.empty())
    errors.add(tree.origin("model.config"), "model.config: model.from is given too. Leave one out");
  ModelSource own{node, [&tree](const std::string& path) { return tree.origin(path); }, true, {}};
  std::vector<ModelSource> sources;
  const auto says = [&](const char* key) { return node.contains(key) && !node[key].is_null(); };
  const bool named = !from.empty() || !config.empty();
  if (named ? !add_named(sources, from, config, tree, errors) : says("from") || says("config")) {
    normalise(own);
    judge_alone(settings, own, named_family(own, errors), errors);
    return {};
  }
  sources.push_back(own);
  if (!take_sources(settings, sources, section, errors)) return {};
  for (const auto& [key, path] : {std::pair{"model.from", from}, std::pair{"model.config", config}})
    if (!path.empty()) put(settings, key, path, tree.origin(key), tree.origin(key).text());
  auto model = to_model(settings, errors);
  model.weights = from;
  return model;
}

ModelConfig model_from_huggingface(const std::string& json_text, const std::string& source,
                                   std::vector<std::string>* warnings) {
  const KeyTable table;
  Settings settings(table);
  ErrorList errors;
  std::vector<ModelSource> sources;
  sources.push_back(file_source(json_text, source, errors));
  const bool named = take_sources(settings, sources, {source, 0}, errors);
  auto model = named ? to_model(settings, errors) : ModelConfig{};
  errors.raise();
  if (warnings != nullptr) *warnings = settings.warnings();
  return model;
}

}  // namespace triax
