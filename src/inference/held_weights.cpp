// SPDX-License-Identifier: Apache-2.0
#include "src/inference/held_weights.hpp"

namespace triax {
namespace {

bool in_few_bits(const std::string& name) {
  return name == "nf4" || name == "nf4-double" || name == "int8";
}

DType type_of(const std::string& name) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    if (name == name_of(type)) return type;
  throw UsageError("inference.weights is " + name, "it is no way to hold weights",
                   "Set it to auto, f32, bf16, f16, nf4, nf4-double or int8");
}

HeldWeights few_bits(const std::string& format, const ModelFiles& files, DType others) {
  if (!files.is_directory())
    throw UsageError("inference.weights is " + format,
                     "weights of a checkpoint of triax cannot be quantized as they are loaded",
                     "Set it to bf16, or export the checkpoint (triax checkpoint export FILE --to "
                     "huggingface DIR)");
  return {others, format,
          fmt::format("weights in memory: {} for the linear maps of blocks, {} for all others",
                      format, name_of(others))};
}

}  // namespace

HeldWeights held_weights(const std::string& asked, const ModelFiles& files, SavedWeights weights,
                         MemorySpace space, bool streamed) {
  if (asked == "f32" || (asked == "auto" && (!streamed || space == MemorySpace::device))) return {};
  if (asked != "auto" && space == MemorySpace::device)
    throw UsageError("inference.weights is " + asked, "on a GPU only f32 is built",
                     "Set it to f32 or auto, or --device to cpu");
  const DType exact = files.type(weights);
  if (in_few_bits(asked)) return few_bits(asked, files, exact);
  const DType type = asked == "auto" ? exact : type_of(asked);
  if (type == DType::f32) return {};
  return {type,
          {},
          fmt::format(
              "weights in memory: {}, {}", name_of(type),
              type == exact ? "as in the files" : fmt::format("rounded from {}", name_of(exact)))};
}

}  // namespace triax
