// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/model_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/config/source/json_lines.hpp"
#include "src/config/source/spelling.hpp"

namespace triax {
namespace {
using nlohmann::json;

// Keys that transformers writes into every config.json, whatever the model: text generation,
// classification and bookkeeping. Pretraining does not use them.
constexpr const char* harmless[] = {"_attn_implementation",
                                    "_attn_implementation_autoset",
                                    "_commit_hash",
                                    "_name_or_path",
                                    "auto_map",
                                    "bad_words_ids",
                                    "begin_suppress_tokens",
                                    "chunk_size_feed_forward",
                                    "decoder_start_token_id",
                                    "diversity_penalty",
                                    "do_sample",
                                    "early_stopping",
                                    "encoder_no_repeat_ngram_size",
                                    "exponential_decay_length_penalty",
                                    "finetuning_task",
                                    "forced_bos_token_id",
                                    "forced_eos_token_id",
                                    "gradient_checkpointing",
                                    "id2label",
                                    "is_decoder",
                                    "is_encoder_decoder",
                                    "label2id",
                                    "length_penalty",
                                    "max_length",
                                    "min_length",
                                    "no_repeat_ngram_size",
                                    "num_beam_groups",
                                    "num_beams",
                                    "num_labels",
                                    "num_return_sequences",
                                    "output_attentions",
                                    "output_hidden_states",
                                    "output_scores",
                                    "prefix",
                                    "problem_type",
                                    "pruned_heads",
                                    "remove_invalid_values",
                                    "repetition_penalty",
                                    "return_dict",
                                    "return_dict_in_generate",
                                    "sep_token_id",
                                    "suppress_tokens",
                                    "task_specific_params",
                                    "temperature",
                                    "tf_legacy_loss",
                                    "tie_encoder_decoder",
                                    "tokenizer_class",
                                    "top_k",
                                    "top_p",
                                    "torchscript",
                                    "typical_p",
                                    "use_bfloat16"};

constexpr const char* section = "model.";

// Other keys that shape tensors; a config.json may omit them, and transformers' defaults then hold.
constexpr const char* other_sizes[] = {"n_inner",
                                       "n_positions",
                                       "intermediate_size",
                                       "num_key_value_heads",
                                       "head_dim",
                                       "max_position_embeddings",
                                       "attention_bias",
                                       "mlp_bias",
                                       "tie_word_embeddings"};

bool makes_shape(const std::string& key) {
  return std::ranges::find(other_sizes, key) != std::end(other_sizes) ||
         std::ranges::any_of(all_families(), [&](const Family* family) {
           return std::ranges::find(family->sizes, key) != family->sizes.end();
         });
}

// A key of rope_scaling that is not known. ("type" beside rope_type has no effect at Hugging Face.)
bool turns_otherwise(const std::string& key) {
  return key.starts_with("rope_scaling.") && key != "rope_scaling.type";
}

std::string without_section(const std::string& path) {
  return path.starts_with(section) ? path.substr(std::string(section).size()) : path;
}

// The key of this model within one edit per five characters of `path`; "" if there is none.
std::string meant(const Settings& settings, const std::string& path) {
  const std::string nearest = settings.table().nearest(path, settings.type_of(path));
  const std::size_t most = std::max<std::size_t>(1, without_section(path).size() / 5);
  return nearest.starts_with(section) && edits(path, nearest) <= most ? without_section(nearest)
                                                                      : std::string();
}

}  // namespace

Origin ModelSource::origin_of(const std::string& path) const {
  const auto moved = written_as.find(path);
  return text_origin(moved == written_as.end() ? path : moved->second);
}

ModelSource file_source(const std::string& text, const std::string& file, ErrorList& errors) {
  auto document = parse_json(text, file, errors);
  const auto origin_of = [file, lines = std::move(document.lines)](const std::string& path) {
    const auto line = lines.find(path == "model" ? "" : without_section(path));
    return Origin{file, line == lines.end() ? 0 : line->second};
  };
  return {std::move(document.root), origin_of, false, {}};
}

namespace {

// "; nearest: mistral" for a family's or a class's name. Models of text and images have their text
// model's config.json inside theirs.
std::string nearest(const ModelSource& source, const json& value) {
  if (!value.is_string()) return {};
  const json inner = source.root.value(json::json_pointer("/text_config/model_type"), json());
  if (const Family* text = inner.is_string() ? find_family(inner) : nullptr; text != nullptr)
    return fmt::format("; its text_config is a {}: give a directory of that text model alone",
                       text->name);
  std::vector<std::string> names;
  for (const Family* family : all_families()) {
    names.emplace_back(family->name);
    names.insert(names.end(), family->classes.begin(), family->classes.end());
  }
  const std::string word = nearest_word(value, names);
  const Family* meant = find_family(word);
  return std::string("; nearest: ") + (meant ? meant : find_family_of_class(word))->name;
}

}  // namespace

const Family* named_family(const ModelSource& source, ErrorList& errors) {
  const json& node = source.root;
  const Family* known = nullptr;
  const auto take = [&](const std::string& key, const json& value, const Family* named) {
    const auto path = section + key;
    if (named == nullptr)
      errors.add(source.origin_of(path),
                 fmt::format("{}: {} is not known (known: {}{})", path, value.dump(),
                             family_names(), nearest(source, value)));
    else if (known != nullptr && known != named)
      errors.add(source.origin_of(path),
                 path + ": " + value.dump() + " contradicts " + known->name);
    if (known == nullptr) known = named;
  };
  for (const std::string key : {"architecture", "model_type"})
    if (node.contains(key) && !node[key].is_null())
      take(key, node[key], node[key].is_string() ? find_family(node[key]) : nullptr);
  if (node.contains("architectures") && node["architectures"].is_array())
    for (const auto& name : node["architectures"])
      take("architectures", name, name.is_string() ? find_family_of_class(name) : nullptr);
  return known;
}

Origin origin_of_family(const ModelSource& source) {
  std::string key = "architectures";
  for (const char* other : {"model_type", "architecture"})
    if (source.root.contains(other) && !source.root[other].is_null()) key = other;
  return source.origin_of(section + key);
}

Origin place_of_unsaid(const std::vector<ModelSource>& sources, const std::string& path) {
  const std::string own = path.substr(0, path.rfind('.'));
  for (auto source = sources.rbegin(); source != sources.rend(); ++source)
    if (own != "model" && source->root.contains(without_section(own)))
      return source->origin_of(own);
  return sources.front().origin_of("model");
}

void require_shape(Settings& settings, const std::vector<ModelSource>& sources, ErrorList& errors) {
  if (std::ranges::all_of(sources, &ModelSource::strict)) return;
  for (const char* key : find_family(settings.type_of("model."))->sizes) {
    const std::string path = std::string(section) + key;
    if (settings.has(path) || !settings.sound({path})) continue;
    settings.error(errors, path, "missing. Set it: it is part of the model's shape");
  }
}

void judge_unknown_keys(Settings& settings, ErrorList& errors) {
  std::string keys, file;
  for (const auto& [path, origin] : settings.passed_over()) {
    const std::string key = without_section(path);
    if (turns_otherwise(key)) {
      errors.add(origin, fmt::format("{}: unknown key (nearest: {}). It may change the model's "
                                     "rotary positions: correct it or leave it out",
                                     path, settings.table().nearest(path, settings.type_of(path))));
      continue;
    }
    if (std::ranges::find(harmless, key) != std::end(harmless)) continue;
    const std::string other = meant(settings, path);
    if (makes_shape(other) && !settings.has(section + other)) {
      errors.add(
          origin,
          fmt::format("{}: unknown key; {}, which seems to be meant, is missing. Correct the name",
                      path, other));
      settings.mark_wrong(section + other);
      continue;
    }
    keys += (keys.empty() ? "" : ", ") + key;
    if (!other.empty()) keys += fmt::format(" (is {} meant?)", other);
    file = origin.file;
  }
  if (!keys.empty())
    settings.warn(
        fmt::format("{}: triax does not know these keys, which have no effect: {}. If one of them "
                    "changes what the model computes, triax trains another model",
                    file, keys));
}

}  // namespace triax
