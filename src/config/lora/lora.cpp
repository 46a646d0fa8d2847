// SPDX-License-Identifier: Apache-2.0
#include "src/config/lora/lora.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>

#include "kernels/base/check.hpp"
#include "src/config/lora/module_match.hpp"
#include "src/config/lora/refused_keys.hpp"
#include "src/config/source/spelling.hpp"
#include "src/model/families/families.hpp"
#include "src/model/families/linear_maps.hpp"

namespace triax {
namespace {
using nlohmann::json;

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

bool is_all_linear(const json& targets) {
  if (!targets.is_string()) return false;
  std::string text = targets;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text == "all-linear";
}

std::vector<std::string> list_of_strings(const json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.is_array() ? value.get<std::vector<std::string>>() : std::vector<std::string>{};
}

// The last parts of names, each once.
std::vector<std::string> last_parts_of(const std::vector<std::string>& modules) {
  std::set<std::string> names;
  for (const std::string& module : modules) names.insert(last_part(module));
  return {names.begin(), names.end()};
}

bool holds(const json& list, const json& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_words(const json& value) {
  return value.is_null() || value.is_string() ||
         (value.is_array() &&
          std::ranges::all_of(value, [](const json& each) { return each.is_string(); }));
}

// Reads the keys of one model's adapters.
class Reader {
 public:
  Reader(const json& keys, const ModelConfig& model, std::vector<LoraProblem>& problems)
      : keys_(keys), model_(model), problems_(problems) {
    for (int block = 0; block < model.layers; ++block)
      std::ranges::move(linear_maps(model, block), std::back_inserter(maps_));
  }

  LoraConfig read() {
    const std::size_t before = problems_.size();
    refuse_not_built(keys_, problems_);
    read_numbers();
    read_start();
    read_magnitudes();
    check_words();
    if (problems_.size() > before) return {};
    choose_targets();
    check_layers();
    choose_saved();
    for (const std::string& map : maps_)
      if (is_target(map)) lora_.modules[map] = shape_of(map);
    check_targets();
    for (const char* key : {"rank_pattern", "alpha_pattern"}) check_pattern(key);
    finish_keys();
    return std::move(lora_);
  }

 private:
  json at(const char* key) const { return keys_.value(key, json()); }
  json at(const char* key, const json& otherwise) const {
    const json value = at(key);
    return value.is_null() ? otherwise : value;
  }
  void fail(const std::string& key, const std::string& text) { problems_.push_back({key, text}); }

  void read_numbers() {
    const json rank = at("r", 8), alpha = at("lora_alpha", 8), dropout = at("lora_dropout", 0.0);
    if (!is_rank(rank)) fail("r", fmt::format("{} is no rank. Set it to 1 or more", rank.dump()));
    if (!is_alpha(alpha))
      fail("lora_alpha", fmt::format("{} is no factor. Set it above 0", alpha.dump()));
    if (!dropout.is_number() || !(dropout >= 0.0) || !(dropout < 1.0))
      fail("lora_dropout",
           fmt::format("{} is no probability. Set it to 0 or more, below 1", dropout.dump()));
    else
      lora_.dropout = dropout.get<float>();
  }
  static bool is_rank(const json& value) {
    return value.is_number_integer() && value >= 1 && value <= 1'000'000;
  }
  static bool is_alpha(const json& value) {
    return value.is_number() && value > 0.0 && std::isfinite(value.get<double>());
  }

  // Initial values. Words of PEFT's that change A alone count as true: B starts at zero.
  void read_start() {
    const json start = at("init_lora_weights", true);
    if (start == false)
      lora_.start = LoraStart::random;
    else if (start == "gaussian")
      lora_.start = LoraStart::gaussian;
    else if (start != true && start != "eva" && start != "orthogonal")
      fail("init_lora_weights",
           fmt::format("{} is not built. Set it to true, false or \"gaussian\"", start.dump()));
  }

  // Magnitudes of outputs. They start as norms of the base's weights, which those of the sum are
  // while B is zero.
  void read_magnitudes() {
    const json dora = at("use_dora", false);
    if (!dora.is_boolean()) return fail("use_dora", "expected true or false");
    lora_.dora = dora.get<bool>();
    if (lora_.dora && lora_.start == LoraStart::random)
      fail("use_dora", "with init_lora_weights false it is not built. Leave init_lora_weights out");
  }

  void check_words() {
    for (const char* key :
         {"target_modules", "exclude_modules", "layers_pattern", "modules_to_save"})
      if (!is_words(at(key))) fail(key, "expected a string or a list of strings");
    for (const char* key : {"rank_pattern", "alpha_pattern"})
      if (const json value = at(key); !value.is_null() && !value.is_object())
        fail(key, "expected an object of numbers by pattern");
    const json layers = at("layers_to_transform");
    const auto number = [](const json& each) { return each.is_number_integer(); };
    if (!layers.is_null() && !number(layers) &&
        !(layers.is_array() && std::ranges::all_of(layers, number)))
      fail("layers_to_transform", "expected the number of a block, or a list of them");
  }

  void choose_targets() {
    targets_ = at("target_modules");
    if (targets_.is_null()) targets_ = usual_adapter_targets(model_);
    if (!is_all_linear(targets_)) return;
    std::set<std::string> names;
    for (const std::string& map : maps_) names.insert(last_part(map));
    targets_ = names;
  }

  void check_layers() {
    layers_ = at("layers_to_transform");
    parents_ = list_of_strings(at("layers_pattern"));
    if (layers_.is_number()) layers_ = json::array({layers_});
    if (layers_.is_array() && layers_.empty()) layers_ = nullptr;
    if (layers_.is_null() && !parents_.empty())
      return fail("layers_pattern",
                  "has no effect without layers_to_transform. Set that, or leave this out");
    if (layers_.is_null()) return;
    if (at("target_modules").is_string())
      return fail("layers_to_transform",
                  "is for a list of target_modules, and these are a string. Make them a list");
    for (const json& layer : layers_)
      if (layer < 0 || layer >= model_.layers)
        return fail("layers_to_transform",
                    fmt::format("block {} is none of the model's {}, 0 to {}", layer.dump(),
                                model_.layers, model_.layers - 1));
  }

  // The modules that are trained whole: embeddings, head and norms.
  void choose_saved() {
    const std::vector<std::string> others = other_modules(model_);
    for (const std::string& word : list_of_strings(at("modules_to_save"))) {
      const auto named = [&](const std::string& module) { return saves_module(word, module); };
      if (const auto map = std::ranges::find_if(maps_, named); map != maps_.end())
        return fail("modules_to_save",
                    fmt::format("\"{}\" stands for {}, a linear map of a block, and only "
                                "embeddings, the head and norms are trained whole. Name it in "
                                "target_modules",
                                word, *map));
      if (std::ranges::none_of(others, named))
        return fail("modules_to_save",
                    fmt::format("\"{}\" is the name of no module of the model. Nearest: {}", word,
                                nearest_word(word, last_parts_of(others))));
      std::ranges::copy_if(others, std::inserter(lora_.saved, lora_.saved.end()), named);
    }
    check_tied();
  }

  void check_tied() {
    const ModelNames& names = family_of(model_).block.outside;
    for (const char* tensor : {names.token_embedding, names.head}) {
      const std::string module = std::string(tensor).substr(0, std::string(tensor).rfind('.'));
      if (model_.tied_embeddings && lora_.saved.contains(module))
        fail("modules_to_save",
             fmt::format("{}: the model's embedding and head are one matrix, and PEFT would train "
                         "a copy that only one of them uses, which its config.json cannot say. "
                         "Leave it out, or give the base a head of its own "
                         "(tie_word_embeddings false)",
                         module));
    }
  }

  bool excluded(const std::string& module) {
    return guarded("exclude_modules", [&] { return names_module(at("exclude_modules"), module); });
  }
  bool named(const std::string& module) {
    return guarded("target_modules", [&] { return names_module(targets_, module); });
  }
  bool is_target(const std::string& module) {
    if (excluded(module) || !named(module)) return false;
    if (layers_.is_null()) return true;
    if (holds(targets_, module)) return true;  // its whole name
    return holds(layers_,
                 guarded("layers_pattern", [&] { return block_of_module(module, parents_); }));
  }

  // The value of `made`; its UsageError becomes one problem of the key.
  template <class Make>
  auto guarded(const char* key, Make&& made) -> decltype(made()) {
    try {
      return made();
    } catch (const UsageError& error) {
      if (broken_.insert(key).second) fail(key, error.what());
      return {};
    }
  }

  // First key of a pattern that stands for the module, in the order of names, as in PEFT's files.
  json patterned(const char* key, const std::string& module, const json& otherwise) {
    const json patterns = at(key, json::object());
    for (const auto& entry : patterns.items())
      if (guarded(key, [&] { return pattern_names(entry.key(), module); })) return entry.value();
    return otherwise;
  }

  AdapterShape shape_of(const std::string& module) {
    const json rank = patterned("rank_pattern", module, at("r", 8));
    const json alpha = patterned("alpha_pattern", module, at("lora_alpha", 8));
    if (!is_rank(rank) || !is_alpha(alpha)) {
      const char* const key = is_rank(rank) ? "alpha_pattern" : "rank_pattern";
      if (broken_.insert(key).second)
        fail(key,
             fmt::format("{} is no value for {}", (is_rank(rank) ? alpha : rank).dump(), module));
      return {};
    }
    AdapterShape shape{rank.get<int>(), alpha.get<double>(), 0.0};
    const bool root = at("use_rslora", false) == true;
    shape.scale = shape.alpha / (root ? std::sqrt(shape.rank) : shape.rank);
    return shape;
  }

  void check_targets() {
    for (const std::string& other : other_modules(model_))
      if (!lora_.saved.contains(other) && !excluded(other) && named(other))
        return fail("target_modules",
                    fmt::format("stands for {}, and only the linear maps of blocks "
                                "can have an adapter. Exclude it",
                                other));
    if (targets_.is_array())
      for (const json& word : targets_)
        if (const auto name = word.get<std::string>(); names_none(name))
          return fail("target_modules",
                      fmt::format("\"{}\" is the name of no linear map of the model. Nearest: {}",
                                  name, nearest_word(name, all_last_parts())));
    if (lora_.modules.empty() && broken_.empty())
      fail("target_modules", "no linear map is left to adapt. They are " +
                                 fmt::format("{}", fmt::join(all_last_parts(), ", ")));
  }
  bool names_none(const std::string& word) {
    const auto named = [&](const std::string& module) {
      return names_module(json::array({word}), module);
    };
    return std::ranges::none_of(maps_, named) && std::ranges::none_of(lora_.saved, named);
  }
  std::vector<std::string> all_last_parts() const { return last_parts_of(maps_); }

  void check_pattern(const char* key) {
    const json patterns = at(key, json::object());
    for (const auto& entry : patterns.items()) {
      const auto hits = [&](const auto& module) {
        return guarded(key, [&] { return pattern_names(entry.key(), module.first); });
      };
      if (std::ranges::none_of(lora_.modules, hits) && broken_.insert(key).second)
        fail(key, fmt::format("\"{}\" stands for no module that has an adapter", entry.key()));
    }
  }

  // The keys as an adapter_config.json has them, with the targets by name.
  void finish_keys() {
    json keys = json::object();
    const json all = usual_keys();
    for (const auto& [key, usual] : all.items()) keys[key] = at(key.c_str(), usual);
    keys["target_modules"] = targets_;
    if (json& saved = keys["modules_to_save"]; saved.is_string()) saved = json::array({saved});
    keys["layers_to_transform"] = layers_;
    keys["fan_in_fan_out"] = family_of(model_).block.order == WeightOrder::input_output;
    lora_.keys = keys.dump();
  }
  static json usual_keys() {
    return {{"r", 8},
            {"lora_alpha", 8},
            {"lora_dropout", 0.0},
            {"exclude_modules", nullptr},
            {"rank_pattern", json::object()},
            {"alpha_pattern", json::object()},
            {"use_rslora", false},
            {"use_dora", false},
            {"layers_pattern", nullptr},
            {"modules_to_save", nullptr},
            {"bias", "none"},
            {"init_lora_weights", true}};
  }

  const json& keys_;
  const ModelConfig& model_;
  std::vector<LoraProblem>& problems_;
  LoraConfig lora_;
  std::vector<std::string> maps_;
  json targets_, layers_;
  std::vector<std::string> parents_;
  std::set<std::string> broken_;  // keys whose pattern is refused already
};

}  // namespace

LoraConfig read_lora(const json& keys, const ModelConfig& model,
                     std::vector<LoraProblem>& problems) {
  return Reader(keys, model, problems).read();
}

}  // namespace triax
