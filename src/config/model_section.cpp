#include "src/config/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/config/json_lines.hpp"
#include "src/config/load.hpp"
#include "src/config/model_source.hpp"
#include "src/config/paths.hpp"
#include "src/config/rope_scaling.hpp"

namespace triax {
namespace {
using nlohmann::json;
namespace fs = std::filesystem;

void put(Settings& settings, const std::string& path, json value, const Origin& origin,
         const std::string& source) {
  settings.put(path, {std::move(value), source, origin, false, Treatment::obeyed});
}

// Hugging Face has a number for a qwen2 that says nothing of its key and value heads, but takes as
// many as query heads where the file says null.
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

// Lays the sources over each other, the later on top, then the defaults. False where no family is
// named or two are.
bool take_sources(Settings& settings, std::vector<ModelSource>& sources, const Origin& section,
                  ErrorList& errors) {
  const Family* chosen = nullptr;
  bool named_wrongly = false;
  Origin origin;
  for (auto& source : sources) {
    normalise(source);
    const auto* named = named_family(source, errors);
    if (named == nullptr) {
      named_wrongly = named_wrongly || source.root.contains("architecture") ||
                      source.root.contains("model_type") || source.root.contains("architectures");
      continue;
    }
    const auto key = source.root.contains("architecture") ? "model.architecture"
                     : source.root.contains("model_type") ? "model.model_type"
                                                          : "model.architectures";
    if (chosen != nullptr && chosen != named) {
      errors.add(source.origin_of(key), std::string("model.architecture: ") + named->name +
                                            " contradicts " + chosen->name + " (" + origin.text() +
                                            ")");
      return false;
    }
    chosen = named;
    origin = source.origin_of(key);
  }
  if (chosen == nullptr) {
    if (!named_wrongly)
      errors.add(section,
                 "model.architecture: missing. Say gpt2, llama or qwen2, or name a config.json in "
                 "model.config");
    return false;
  }
  put(settings, "model.architecture", chosen->name, origin, origin.text());
  for (auto& source : sources) {
    for (const auto* key : {"architecture", "model_type", "architectures", "from", "config"})
      source.root.erase(key);
    const OriginOf origin_of = [&](const std::string& path) { return source.origin_of(path); };
    take_values(settings, source.root, "model", origin_of, source.strict, errors);
  }
  settings.place_unsaid(
      "model.", [sources](const std::string& path) { return place_of_unsaid(sources, path); });
  judge_unknown_keys(settings, errors);
  require_shape(settings, sources, errors);
  put_defaults(settings, sources);
  return true;
}

void need(bool ok, Settings& settings, const std::string& path, const std::string& text,
          ErrorList& errors) {
  if (!ok) settings.error(errors, path, text);
}

// The keys whose default is another's value.
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
  need(m.hidden % m.heads == 0, s, "model.n_embd",
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
  need(s.has("model.head_dim") || m.hidden % m.heads == 0, s, "model.hidden_size",
       fmt::format("{} is not a multiple of model.num_attention_heads {}", m.hidden, m.heads),
       errors);
  derive(s, "model.num_key_value_heads", m.heads);
  derive(s, "model.head_dim", std::max(1, m.hidden / m.heads));
  m.kv_heads = static_cast<int>(s.integer("model.num_key_value_heads"));
  const bool said = s.at("model.num_key_value_heads").source != "default";
  need(m.heads % m.kv_heads == 0, s, "model.num_key_value_heads",
       fmt::format("{}{} does not divide model.num_attention_heads {}", m.kv_heads,
                   said ? "" : ", Hugging Face's default,", m.heads),
       errors);
  m.head_size = static_cast<int>(s.integer("model.head_dim"));
  need(m.head_size % 2 == 0, s, "model.head_dim",
       fmt::format("{} is odd (rotary positions turn pairs)", m.head_size), errors);
  constexpr double widest = std::numeric_limits<int>::max();
  need((m.heads + 2.0 * m.kv_heads) * m.head_size <= widest, s, "model.head_dim",
       fmt::format("{} x {} heads is wider than {:.0f}, the most that a matrix may be", m.head_size,
                   m.heads, widest),
       errors);
  m.intermediate = static_cast<int>(s.integer("model.intermediate_size"));
  m.positions = static_cast<int>(s.integer("model.max_position_embeddings"));
  m.norm_epsilon = static_cast<float>(s.number("model.rms_norm_eps"));
  m.rope_theta = s.number("model.rope_theta");
  m.rope_scaling = read_rope_scaling(s, errors);
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

// The path under model.from or model.config where it is a string that names something; "" else.
std::string named_path(const Settings& settings, const json& node, const std::string& key,
                       const JobTree& tree, ErrorList& errors) {
  if (!node.contains(key) || node[key].is_null()) return {};
  const auto path = "model." + key;
  const auto origin = tree.origin(path);
  if (const auto problem = problem_with(*settings.table().find(path), node[key])) {
    errors.add(origin, path + ": " + *problem);
    return {};
  }
  const auto found = find_input(node[key], origin.line > 0 ? origin.file : tree.file);
  if (!found)
    errors.add(origin, path + ": no such file or directory: " + node[key].get<std::string>());
  return found.value_or("");
}

bool has_weights(const fs::path& directory) {
  return fs::exists(directory / "model.safetensors") ||
         fs::exists(directory / "model.safetensors.index.json");
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
  const auto file = from.empty() ? config : (fs::path(from) / "config.json").string();
  if (!from.empty() && !fs::exists(file))
    errors.add(tree.origin("model.from"), "model.from: no config.json in " + from);
  else if (!from.empty() && !has_weights(from))
    errors.add(tree.origin("model.from"), "model.from: no model.safetensors in " + from +
                                              ". For the shape alone, say model.config");
  std::vector<ModelSource> sources;
  try {
    if (!file.empty() && fs::exists(file))
      sources.push_back(file_source(read_text(file), file, errors));
  } catch (const UsageError& e) {
    errors.add({}, e.what());
    return {};
  }
  const bool file_missing =
      sources.empty() && (node.contains("from") || node.contains("config")) && !errors.empty();
  sources.push_back(
      {node, [&tree](const std::string& path) { return tree.origin(path); }, true, {}});
  if (file_missing && !node.contains("architecture")) return {};
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
