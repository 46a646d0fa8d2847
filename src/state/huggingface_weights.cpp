#include "src/state/huggingface_weights.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/base/check.hpp"
#include "src/model/architecture.hpp"

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

// Whether two matrices of one shape look the same: in rows all over them, as a head that was
// trained on its own differs everywhere.
bool alike(const SafetensorsReader& reader, const std::string& one, const std::string& other) {
  constexpr std::int64_t compared = 64;
  const Shape& shape = reader.entry(one).shape;
  const std::int64_t rows = shape[0], columns = shape[1];
  std::vector<float> a(static_cast<std::size_t>(columns)), b(a.size());
  for (std::int64_t i = 0; i < std::min(rows, compared); ++i) {
    const std::int64_t row = rows <= compared ? i : i * (rows - 1) / (compared - 1);
    reader.read(one, row * columns, Tensor(a.data(), {columns}));
    reader.read(other, row * columns, Tensor(b.data(), {columns}));
    if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

// The name in the files of the matrix that is both embedding and head: some savers keep it under
// the head's name alone. Where there are two, that differ, transformers 4 takes the embedding for
// both and transformers 5 takes both: the user has to say.
std::string find_tied(const SafetensorsReader& reader, const std::string& directory,
                      const ModelNames& names) {
  const std::string embedding = find_name(reader, names.token_embedding);
  if (embedding.empty()) return find_name(reader, names.head);
  if (reader.contains(names.head) && reader.entry(names.head).shape.rank() == 2 &&
      reader.entry(names.head).shape == reader.entry(embedding).shape &&
      !alike(reader, embedding, names.head))
    throw Error(fmt::format("{}: {} and {} differ", directory, embedding, names.head),
                "by config.json they are tied: one matrix",
                "For a model with both, set tie_word_embeddings to false in config.json; for one "
                "with the embedding alone, take the other out of the files");
  return embedding;
}

}  // namespace

HuggingfaceWeights::HuggingfaceWeights(const std::string& directory, const ModelConfig& model)
    : reader_(directory) {
  std::set<std::string> unused;
  for (const auto& entry : reader_.entries())
    if (!is_buffer(entry.first)) unused.insert(entry.first);
  const ModelNames outside = ModelNames::of(model);
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const bool tied = model.tied_embeddings && tensor.name == outside.token_embedding;
    const std::string name =
        tied ? find_tied(reader_, directory, outside) : find_name(reader_, tensor.name);
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
  if (model.tied_embeddings) unused.erase(outside.head);
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
