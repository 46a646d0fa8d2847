// SPDX-License-Identifier: Apache-2.0
// Rows of the key table for the section model: where weights and shape come from, and the keys of
// each family.
#include <algorithm>
#include <iterator>
#include <utility>

#include "src/config/keys/key_table.hpp"
#include "src/model/families/families.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;

void add_sources(Keys& k) {
  std::vector<std::string> names;
  std::ranges::transform(all_families(), std::back_inserter(names), &Family::name);
  k.push_back(obeyed("model.from", path, nullptr, anything(),
                     "directory with config.json and model.safetensors: shape and weights"));
  k.push_back(
      obeyed("model.quantize", string, "none", one_of({"none", "nf4", "nf4-double", "int8"}),
             "linear maps of the blocks stay in these bits in memory, for adapters "
             "(section lora); those of a plain model.from are quantized as they are loaded"));
  k.push_back(obeyed("model.config", path, nullptr, anything(),
                     "a config.json: shape only, fresh weights"));
  k.push_back(obeyed("model.architecture", string, nullptr, one_of(names), "the model family"));
  k.push_back(obeyed("model.model_type", string, nullptr, one_of(names),
                     "Hugging Face's name for model.architecture"));
  k.push_back(obeyed("model.architectures", strings, nullptr, anything(),
                     "class names; must agree with model.architecture"));
}

void add_common(Keys& k) {
  k.push_back(obeyed("model.initializer_range", number, 0.02, at_least(0),
                     "standard deviation of fresh weights"));
  k.push_back(obeyed("model.quantization_config", object, nullptr, anything(),
                     "how the files of model.from are quantized: bitsandbytes (nf4, fp4, int8), "
                     "gptq, awq; they are decoded where they are read"));
  for (const auto* name :
       {"torch_dtype", "dtype", "transformers_version", "use_cache", "_name_or_path"})
    k.push_back(accepted(std::string("model.") + name, any, nullptr, "Hugging Face bookkeeping"));
  for (const auto* name : token_id_keys)
    k.push_back(obeyed(std::string("model.") + name, any, nullptr, anything(),
                       "copied to exports; training does not use it"));
}

}  // namespace

Keys model_keys() {
  Keys k;
  add_sources(k);
  Keys of_families;
  for (const Family* family : all_families()) {
    for (Key& key : family->keys()) add_for_type(of_families, std::move(key), family->name);
    for (const auto& [name, meant] : family->old_keys)
      add_for_type(of_families,
                   obeyed(std::string("model.") + name, any, nullptr, anything(),
                          std::string("older name of ") + meant),
                   family->name);
  }
  std::ranges::move(of_families, std::back_inserter(k));
  add_common(k);
  return k;
}

}  // namespace triax
