// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace triax::test {
namespace {

nlohmann::json read_json(const std::string& path) {
  return nlohmann::json::parse(std::ifstream(path));
}

}  // namespace

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TRIAX_SOURCE_DIR) + "/tests/golden"))
    if (std::filesystem::exists(entry.path() / "expected.json"))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

GoldenCase read_golden(const std::string& name) {
  GoldenCase golden;
  golden.name = name;
  golden.directory = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/" + name;
  const std::string labelled = golden.directory + "/tokens.h5";
  golden.tokens = std::filesystem::exists(labelled) ? labelled : golden.directory + "/tokens.bin";
  const auto file = read_json(golden.directory + "/expected.json");
  const auto& recipe = file.at("training");
  golden.lr = recipe.at("lr");
  golden.min_lr = recipe.at("min_lr");
  golden.beta1 = recipe.at("betas").at(0);
  golden.beta2 = recipe.at("betas").at(1);
  golden.epsilon = recipe.at("eps");
  golden.weight_decay = recipe.at("weight_decay");
  golden.clip = recipe.at("clip");
  golden.z_coefficient = recipe.value("z_coefficient", 0.0);
  golden.warmup = recipe.at("warmup");
  golden.steps = recipe.at("steps");
  golden.global_batch = recipe.at("global_batch");
  golden.sequence_length = recipe.at("seq_length");
  golden.cosine = recipe.at("schedule") == "cosine";
  golden.mask_documents = recipe.value("documents", "join") == "mask";
  golden.mask_end_token_loss = recipe.value("mask_end_token_loss", false);
  golden.freeze = recipe.value("freeze", golden.freeze);
  golden.train_only = recipe.value("train_only", golden.train_only);
  if (std::filesystem::exists(golden.directory + "/adapter"))
    golden.adapter = golden.directory + "/adapter";
  for (const auto& step : file.at("steps"))
    golden.expected.push_back({step.at("loss"), step.at("grad_norm"), step.at("lr")});
  return golden;
}

std::map<std::string, TensorSummary> read_summaries(const GoldenCase& golden,
                                                    const std::string& file) {
  std::map<std::string, TensorSummary> summaries;
  const auto tensors = read_json(golden.directory + "/" + file);
  for (const auto& [name, summary] : tensors.items())
    summaries[name] = {summary.at("sum"), summary.at("l2")};
  return summaries;
}

}  // namespace triax::test
