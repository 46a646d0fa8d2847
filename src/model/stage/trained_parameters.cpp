// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/trained_parameters.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "src/config/source/spelling.hpp"
#include "src/model/families/families.hpp"
#include "src/model/parameter.hpp"
#include "src/model/stage/partition.hpp"
#include "src/model/stage/stage.hpp"

namespace triax {
namespace {

// Words of a job file that a mistyped pattern may mean: names of tensors and of the modules above
// them, with * for the number of a block.
std::vector<std::string> usual_patterns(const std::vector<GlobalTensor>& tensors) {
  std::set<std::string> words;
  for (const GlobalTensor& tensor : tensors) {
    std::string word;
    for (std::size_t begin = 0; begin <= tensor.name.size();) {
      const std::size_t end = std::min(tensor.name.find('.', begin), tensor.name.size());
      const std::string part = tensor.name.substr(begin, end - begin);
      const bool number = part.find_first_not_of("0123456789") == std::string::npos;
      word += (word.empty() ? "" : ".") + (number ? "*" : part);
      words.insert(word);
      begin = end + 1;
    }
  }
  return {words.begin(), words.end()};
}

// The three words most like `pattern`.
std::vector<std::string> nearest(const std::string& pattern, std::vector<std::string> words) {
  std::ranges::stable_sort(words, {},
                           [&](const std::string& word) { return edits(pattern, word); });
  constexpr std::size_t shown = 3;
  words.resize(std::min(words.size(), shown));
  return words;
}

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
  throw UsageError(fmt::format("{}: \"{}\" is the name of no tensor of the model", key, pattern),
                   fmt::format("the nearest names are {}",
                               fmt::join(nearest(pattern, usual_patterns(tensors)), ", ")),
                   "Patterns are those of a shell (*, ? and [...]), not regular expressions");
}

}  // namespace

void check_trainability(const ModelConfig& model) {
  const Trainability& of = model.trainability;
  if (of.freeze.empty() && of.train_only.empty()) return;
  const std::vector<GlobalTensor> tensors = global_tensors(model);
  for (const std::string& pattern : of.freeze) check_pattern("freeze", pattern, model, tensors);
  for (const std::string& pattern : of.train_only)
    check_pattern("train_only", pattern, model, tensors);
  if (std::ranges::none_of(tensors, &GlobalTensor::trained))
    throw UsageError("freeze: no tensor of the model is left to train",
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
      if (reached && !spec.trained && spec.shape.rank() == 2)
        for (const Piece& piece : spec.pieces)
          saved += 2 * static_cast<double>(piece.extent.elements());
  }
  return saved;
}

}  // namespace triax
