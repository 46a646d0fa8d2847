#include "src/state/huggingface_weights.hpp"

#include <set>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Hugging Face files hold GPT-2's tensors with or without the "transformer." of the full model.
std::string find_name(const SafetensorsReader& reader, const std::string& name) {
  if (reader.contains(name)) return name;
  for (const std::string prefix : {"transformer.", "model."})
    if (name.starts_with(prefix) && reader.contains(name.substr(prefix.size())))
      return name.substr(prefix.size());
  return {};
}

// What GPT-2 checkpoints carry beside parameters: the causal mask.
bool is_buffer(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq");
}

}  // namespace

HuggingfaceWeights::HuggingfaceWeights(const std::string& directory, const ModelConfig& model)
    : reader_(directory) {
  std::set<std::string> unused;
  for (const auto& entry : reader_.entries())
    if (!is_buffer(entry.first)) unused.insert(entry.first);
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const std::string name = find_name(reader_, tensor.name);
    if (name.empty())
      throw Error(fmt::format("{}: tensor {} is missing", directory, tensor.name),
                  "the model of config.json needs it",
                  "Check that weights and config.json belong together");
    const Shape& shape = reader_.entry(name).shape;
    if (shape != tensor.shape)
      throw Error(fmt::format("{}: tensor {} has shape {}", directory, name, shape.text()),
                  fmt::format("config.json asks for {}", tensor.shape.text()),
                  "Check that weights and config.json belong together");
    unused.erase(name);
    names_.emplace(tensor.name, name);
  }
  if (model.tied_embeddings) unused.erase("lm_head.weight");
  unused_.assign(unused.begin(), unused.end());
}

void HuggingfaceWeights::read(const std::string& tensor, std::int64_t begin,
                              const Tensor& out) const {
  reader_.read(names_.at(tensor), begin, out);
}

DType HuggingfaceWeights::type() const {
  const auto of = [&](const std::string& name) { return reader_.entries().at(name).dtype; };
  const DType first = of(names_.begin()->second);
  for (const auto& [tensor, name] : names_)
    if (of(name) != first) return DType::f32;
  return first == DType::bf16 || first == DType::f16 ? first : DType::f32;
}

}  // namespace triax
