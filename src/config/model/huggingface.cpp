// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/huggingface.hpp"

#include <nlohmann/json.hpp>

#include "src/config/keys/key_table.hpp"
#include "src/model/families/families.hpp"
#include "src/model/families/keys/decoder.hpp"

namespace triax {
using nlohmann::ordered_json;

std::string huggingface_config(const ModelConfig& model, DType type) {
  const Family& family = family_of(model);
  ordered_json j;
  j["architectures"] = ordered_json::array({family.classes.front()});
  j["model_type"] = family.name;
  family.write(model, j);
  j["tie_word_embeddings"] = model.tied_embeddings;
  j["initializer_range"] = shortest(model.initializer_range);
  // null for unknown token ids: a reader's own defaults belong to another vocabulary.
  for (const char* key : token_id_keys) j[key] = nullptr;
  j.update(ordered_json::parse(model.token_ids));
  j["torch_dtype"] = type == DType::bf16 ? "bfloat16" : type == DType::f16 ? "float16" : "float32";
  return j.dump(2) + "\n";
}

}  // namespace triax
