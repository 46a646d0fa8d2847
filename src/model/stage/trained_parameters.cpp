// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/trained_parameters.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "src/model/families/families.hpp"
#include "src/model/parameter.hpp"
#include "src/model/stage/partition.hpp"
#include "src/model/stage/stage.hpp"
#include "src/model/stage/tensor_names.hpp"

namespace triax {
namespace {

// `key`: the key that has the pattern, after its file and line.
void check_pattern(const std::string& key, const std::string& pattern, const ModelConfig& model,
                   const std::vector<GlobalTensor>& tensors) {
  const auto named = [&](const GlobalTensor& tensor) { return stands_for(pattern, tensor.name); };
  if (std::ranges::any_of(tensors, named)) return;
  const ModelNames& names = family_of(model).block.outside;
  if (model.tied_embeddings && stands_for(pattern, names.head))
    throw UsageError(
        fmt::format("{}: the model has no tensor \"{}\"", key, pattern),
        fmt::format("its head is tied to the token embedding, {}", names.token_embedding),
        fmt::format("Name {}, which freezes or trains both", names.token_embedding));
  throw UsageError(
      fmt::format("{}: \"{}\" is the name of no tensor of the model", key, pattern),
      fmt::format("the nearest names are {}",
                  fmt::join(nearest_tensor_names(pattern, model, PatternOf::modules), ", ")),
      "Patterns are those of a shell (*, ? and [...]), not regular expressions");
}

}  // namespace

void check_trainability(const ModelConfig& model) {
  const Trainability& of = model.trainability;
  if (of.freeze.empty() && of.train_only.empty()) return;
  const std::vector<GlobalTensor> tensors = global_tensors(model);
  const std::string key = key_of(of);
  for (const auto* patterns : {&of.freeze, &of.train_only})
    for (const std::string& pattern : *patterns) check_pattern(key, pattern, model, tensors);
  if (std::ranges::none_of(tensors, &GlobalTensor::trained))
    throw UsageError(key + ": no tensor of the model is left to train",
                     fmt::format("{} tensors are frozen", tensors.size()),
                     "Leave out the tensors that are to be trained");
}

TrainedParameters trained_parameters(const ModelConfig& model) {
  TrainedParameters count;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    count.all += tensor.shape.elements();
    if (tensor.trained) count.trained += tensor.shape.elements();
  }
  return count;
}

double saved_flops_per_token(const ModelConfig& model, std::int64_t sequence_length) {
  if (model.trainability == Trainability{}) return 0.0;
  const Stage whole(model, {}, 1, {}, StageUse::plan);
  double saved = 0.0;
  bool reached = false;  // a trained parameter
  for (int layer = 0; layer < whole.layers(0); ++layer) {
    const std::vector<ParameterSpec>& params = whole.layer(0, layer).params();
    reached |= std::ranges::any_of(params, &ParameterSpec::trained);
    if (layer == 0) continue;  // the embedding multiplies nothing
    if (!reached) saved += 2 * block_flops(model, layer - 1, sequence_length);
    for (const ParameterSpec& spec : params)
      if (reached && !spec.trained && (spec.packed || spec.shape.rank() == 2))
        for (const Piece& piece : spec.pieces)
          saved += 2 * static_cast<double>(piece.extent.elements());
  }
  return saved;
}

}  // namespace triax
