// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/config/model/model_source.hpp"
#include "src/config/model/rope_scaling.hpp"
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

// transformers has a default number of key-value heads for a qwen2 whose file omits the key, but
// uses the number of query heads if the file says null.
void put_defaults(Settings& settings, const std::vector<ModelSource>& sources) {
  constexpr const char* key = "num_key_value_heads";
  const std::string path = std::string("model.") + key;
  const bool said_null =
      !settings.has(path) && std::ranges::any_of(sources, [&](const ModelSource& source) {
        return source.root.contains(key) && source.root[key].is_null();
      });
  take_defaults(settings, true);
  if (said_null) put(settings, path, nullptr, {}, "default");  // derive() knows the number
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
    wrong.add(section,
              "model.architecture: missing. Set it to gpt2, llama or qwen2, or name a config.json "
              "in model.config");
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
  const Family& family = *family_of(settings.string("model.architecture"));
  for (auto& source : sources) rename_rope_kind(source, family);
  take_keys(settings, sources, errors);
  settings.place_unsaid(
      "model.", [sources](const std::string& path) { return place_of_unsaid(sources, path); });
  judge_unknown_keys(settings, errors);
  require_shape(settings, sources, errors);
  put_defaults(settings, sources);
  return true;
}

// Reports `text` unless `ok`. `of` are the keys compared: if one is itself wrong, nothing is
// reported.
void need(bool ok, const std::vector<std::string>& of, Settings& settings, const std::string& path,
          const std::string& text, ErrorList& errors) {
  if (!ok && settings.sound(of)) settings.error(errors, path, text);
}

// Default of a key that equals another key's value.
void derive(Settings& s, const std::string& path, std::int64_t value) {
  if (!s.has(path)) s.resolve(path, value, "default");
}

void gpt2_shape(Settings& s, ModelConfig& m, ErrorList& errors) {
  derive(s, "model.n_inner", 4 * s.integer("model.n_embd"));
  m.layers = static_cast<int>(s.integer("model.n_layer"));
  m.heads = m.kv_heads = static_cast<int>(s.integer("model.n_head"));
  m.hidden = static_cast<int>(s.integer("model.n_embd"));
  m.intermediate = static_cast<int>(s.integer("model.n_inner"));
  m.positions = static_cast<int>(s.integer("model.n_positions"));
  m.head_size = m.hidden / m.heads;
  need(m.hidden % m.heads == 0, {"model.n_embd", "model.n_head"}, s, "model.n_embd",
       fmt::format("{} is not a multiple of model.n_head {}", m.hidden, m.heads), errors);
  m.norm_epsilon = static_cast<float>(s.number("model.layer_norm_epsilon"));
  m.qkv_bias = true;
  m.embedding_dropout = static_cast<float>(s.number("model.embd_pdrop"));
  m.attention_dropout = static_cast<float>(s.number("model.attn_pdrop"));
  m.residual_dropout = static_cast<float>(s.number("model.resid_pdrop"));
}

void llama_shape(Settings& s, ModelConfig& m, ErrorList& errors) {
  m.layers = static_cast<int>(s.integer("model.num_hidden_layers"));
  m.heads = static_cast<int>(s.integer("model.num_attention_heads"));
  m.hidden = static_cast<int>(s.integer("model.hidden_size"));
  const std::string heads = "model.num_attention_heads", kv_heads = "model.num_key_value_heads";
  const std::string width = "model.hidden_size", head_dim = "model.head_dim";
  const bool own_width = s.has(head_dim) || !s.sound({head_dim});
  const auto width_of_head = own_width ? std::vector{head_dim} : std::vector{width, heads};
  need(own_width || m.hidden % m.heads == 0, {width, heads}, s, width,
       fmt::format("{} is not a multiple of model.num_attention_heads {}", m.hidden, m.heads),
       errors);
  derive(s, kv_heads, m.heads);
  derive(s, head_dim, std::max(1, m.hidden / m.heads));
  m.kv_heads = static_cast<int>(s.integer(kv_heads));
  const bool said = s.at(kv_heads).source != "default";
  need(m.heads % m.kv_heads == 0, {heads, kv_heads}, s, kv_heads,
       fmt::format("{}{} does not divide model.num_attention_heads {}", m.kv_heads,
                   said ? "" : ", Hugging Face's default,", m.heads),
       errors);
  m.head_size = static_cast<int>(s.integer(head_dim));
  need(m.head_size % 2 == 0, width_of_head, s, head_dim,
       fmt::format("{} is odd (rotary positions turn pairs)", m.head_size), errors);
  constexpr double widest = std::numeric_limits<int>::max();
  need((m.heads + 2.0 * m.kv_heads) * m.head_size <= widest, {head_dim, width, heads, kv_heads}, s,
       head_dim,
       fmt::format("{} x {} heads is wider than {:.0f}, the most that a matrix may be", m.head_size,
                   m.heads, widest),
       errors);
  m.intermediate = static_cast<int>(s.integer("model.intermediate_size"));
  m.positions = static_cast<int>(s.integer("model.max_position_embeddings"));
  m.norm_epsilon = static_cast<float>(s.number("model.rms_norm_eps"));
  m.rope_theta = s.number("model.rope_theta");
  m.rope_scaling =
      read_rope_scaling(s, {m.rope_theta, m.head_size, m.positions, m.positions}, errors);
  const bool is_llama = m.architecture == Architecture::llama;
  m.attention_output_bias = is_llama && s.boolean("model.attention_bias");
  m.mlp_bias = is_llama && s.boolean("model.mlp_bias");
  m.qkv_bias = !is_llama || m.attention_output_bias;
  m.attention_dropout = static_cast<float>(s.number("model.attention_dropout"));
}

std::string token_ids(const Settings& s) {
  json ids = json::object();
  for (const std::string key : token_id_keys)
    if (s.has("model." + key)) ids[key] = s.at("model." + key).value;
  return ids.dump();
}

ModelConfig to_model(Settings& s, ErrorList& errors) {
  ModelConfig m;
  m.architecture = family_of(s.string("model.architecture"))->architecture;
  m.vocabulary = static_cast<int>(s.integer("model.vocab_size"));
  m.tied_embeddings = s.boolean("model.tie_word_embeddings");
  m.initializer_range = static_cast<float>(s.number("model.initializer_range"));
  m.token_ids = token_ids(s);
  if (m.architecture == Architecture::gpt2)
    gpt2_shape(s, m, errors);
  else
    llama_shape(s, m, errors);
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
  return found;
}

// Problem with the weights in the directory of model.from; empty: none.
std::string problem_with_weights(const std::string& directory) {
  for (const auto* name : {"model.safetensors", "model.safetensors.index.json"}) {
    const FileLook look = look_at(fs::path(directory) / name);
    if (look.there || !look.problem.empty()) return look.problem;
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
    return fail(look.problem.empty() ? "no config.json in " + from : look.problem);
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
