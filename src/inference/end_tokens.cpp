// SPDX-License-Identifier: Apache-2.0
#include "src/inference/end_tokens.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::json;

void add_ids(const std::string& text, const std::string& place, std::vector<std::int64_t>& ids) {
  const json config = json::parse(text, nullptr, false);
  if (!config.is_object())
    throw UsageError(place + " is no JSON object", {}, "Fetch the model again");
  const json eos = config.value("eos_token_id", json());
  for (const json& id : eos.is_array() ? eos : json::array({eos}))
    if (id.is_number_integer()) ids.push_back(id.get<std::int64_t>());
}

}  // namespace

std::vector<std::int32_t> end_tokens(const std::string& config, const TokenizerFiles& files,
                                     const Tokenizer& tokenizer, std::int64_t vocabulary) {
  constexpr const char* generation = "generation_config.json";
  std::vector<std::int64_t> ids;
  add_ids(config, "the model's config.json", ids);
  if (const std::string* text = files.find(generation); text != nullptr)
    add_ids(*text, files.path(generation), ids);
  if (const auto end = tokenizer.end_token()) ids.push_back(*end);
  std::erase_if(ids, [&](std::int64_t id) { return id < 0 || id >= vocabulary; });
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return {ids.begin(), ids.end()};
}

}  // namespace triax
