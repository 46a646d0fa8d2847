// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/weights_check.hpp"

#include "src/state/weights/adapter_weights.hpp"
#include "src/state/weights/huggingface_weights.hpp"

namespace triax {

std::vector<std::string> check_weights(const ModelConfig& model) {
  if (model.weights.empty()) return {};
  if (!model.lora.from.empty()) AdapterWeights(model.lora.from, model);
  return HuggingfaceWeights(model.weights, model).names().warnings(model.weights);
}

}  // namespace triax
