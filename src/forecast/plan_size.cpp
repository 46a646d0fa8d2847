// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/plan_size.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "src/model/families/families.hpp"
#include "src/model/families/linear_maps.hpp"
#include "src/model/stage/stage.hpp"
#include "src/plan/step_plan.hpp"
#include "src/schedule/plan.hpp"
#include "src/state/parameter_block.hpp"

namespace triax {
namespace {

double count_with_blocks(ModelConfig model, int blocks) {
  model.layers = blocks;
  model.windowed.clear();
  model.rotary.clear();
  double count = 0.0;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    double elements = 1.0;
    for (int d = 0; d < tensor.shape.rank(); ++d)
      elements *= static_cast<double>(tensor.shape[d]);  // may not fit an int64
    count += elements;
  }
  return count;
}

// Elements of the adapters, which only some blocks may have: r (inputs + outputs) each, and the
// outputs' magnitudes.
double count_adapters(const ModelConfig& model) {
  if (!model.lora) return 0.0;
  ModelConfig one = model;  // block 0 with all adapters, of rank 1
  one.layers = 1;
  one.windowed.clear();
  one.rotary.clear();
  one.lora.modules.clear();
  one.lora.saved.clear();
  one.lora.dora = false;
  for (const std::string& map : linear_maps(model, 0)) one.lora.modules[map] = {.rank = 1};
  const std::string block = family_of(model).block.names.block;
  const auto within_block = [&](const std::string& name) {
    return name.substr(name.find('.', block.size()) + 1);
  };
  std::map<std::string, double> of_rank_one, outputs;
  for (const GlobalTensor& tensor : global_tensors(one))
    if (tensor.adapter) {
      const std::string module = tensor.name.substr(0, tensor.name.rfind(".lora_"));
      of_rank_one[within_block(module)] += static_cast<double>(tensor.shape.elements());
      if (tensor.name.ends_with(lora_b_suffix))
        outputs[within_block(module)] = static_cast<double>(tensor.shape.elements());
    }
  double count = 0.0;
  for (const auto& [module, shape] : model.lora.modules)
    count += shape.rank * of_rank_one.at(within_block(module));
  if (!model.lora.dora) return count;
  for (const auto& [module, shape] : model.lora.modules) count += outputs.at(within_block(module));
  return count;
}

}  // namespace

double count_parameters(const ModelConfig& model) {
  const ModelConfig base = base_of(model);
  const double one = count_with_blocks(base, 1);
  return one + (count_with_blocks(base, 2) - one) * (model.layers - 1) + count_adapters(model);
}

double planning_bytes(const Config& config) {
  const OffloadOptimizerConfig& offload = config.zero.offload_optimizer;
  // Instructions per layer and micro-batch; embedding and head count as two layers.
  double of_a_layer = 2.0;                                           // forward and backward
  if (config.recompute.what == Recompute::layer) of_a_layer += 2.0;  // and dropped frames
  if (config.zero.stage >= 2) of_a_layer += 2.0;                     // reductions start and end
  if (config.zero.stage >= 3) of_a_layer += 6.0;                     // gathers, for each pass
  if (runs_evaluations(config)) of_a_layer += config.zero.stage >= 3 ? 4.0 : 1.0;
  double instructions =
      of_a_layer * (config.model.layers + 2.0) * static_cast<double>(config.batch.accumulation);
  if (offload.device == OffloadDevice::nvme) {
    constexpr double of_a_part = 5.0;  // fetched, stepped and stored
    const double shards = config.zero.stage > 0 ? config.parallel.data : 1.0;
    const auto part = static_cast<double>(std::min(offload.part, StateOffload{}.part_elements));
    instructions +=
        of_a_part * count_parameters(config.model) / (part * shards * config.parallel.tensor);
  }
  constexpr double at_once = 2.0;  // a pass builds a new plan from the previous one
  return at_once * instructions * sizeof(Op);
}

}  // namespace triax
