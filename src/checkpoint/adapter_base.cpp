// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/adapter_base.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/files/fingerprint.hpp"
#include "kernels/base/check.hpp"
#include "src/config/lora/lora.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/config/source/absolute_path.hpp"

namespace triax {
namespace {
using nlohmann::json;
namespace fs = std::filesystem;

json saved(const CheckpointHeader& header) {
  json adapter = json::parse(header.adapter, nullptr, false);
  if (!adapter.is_object() || !adapter.value("base", json()).is_string() ||
      !adapter.value("fingerprint", json()).is_string() ||
      !adapter.value("config", json()).is_object())
    throw Error("the checkpoint's attribute adapter cannot be read", header.adapter,
                "Use another checkpoint of the run");
  return adapter;
}

}  // namespace

std::string base_fingerprint(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().filename());
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{} {}\n", name, fingerprint((fs::path(directory) / name).string()));
  return text;
}

std::string adapter_text(const ModelConfig& model, const std::string& fingerprint) {
  if (!model.lora) return {};
  return json{{"base", absolute_path(model.weights)},
              {"fingerprint", fingerprint},
              {"config", json::parse(model.lora.keys)}}
      .dump();
}

ModelConfig model_of(const CheckpointHeader& header, std::vector<std::string>* warnings) {
  ModelConfig model = model_from_huggingface(header.model, "the checkpoint's model", warnings);
  if (!holds_adapters(header)) return model;
  const json adapter = saved(header);
  model.lora = lora_of_adapter(adapter["config"].dump(), "the checkpoint's adapter", model);
  model.weights = adapter["base"].get<std::string>();
  return model;
}

void check_base(const CheckpointHeader& header, const std::string& path,
                const std::string& directory) {
  const json adapter = saved(header);
  const auto base = adapter["base"].get<std::string>();
  const std::string here = base_fingerprint(directory);
  if (here.empty())
    throw UsageError(
        fmt::format("{} holds adapters of a base that is gone", path),
        fmt::format("{} has no safetensors files", directory),
        fmt::format("Put the weights back there, or resume with --set model.from=DIR"));
  if (here != adapter["fingerprint"].get<std::string>())
    throw UsageError(
        fmt::format("{} holds adapters of another base", path),
        fmt::format("its run trained on {}, and the weights in {} are others", base, directory),
        "Name the base of that run in model.from");
}

std::vector<std::string> adapter_differences(const CheckpointHeader& header,
                                             const ModelConfig& model) {
  if (!holds_adapters(header) && !model.lora) return {};
  if (!model.lora) return {"it holds adapters, and the job has no section lora"};
  if (!holds_adapters(header))
    return {
        "it holds a whole model, and the job trains adapters (export it with triax checkpoint "
        "export, and name that in model.from)"};
  return lora_changes(model_of(header).lora, model.lora);
}

}  // namespace triax
