// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/huggingface_weights.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/base/check.hpp"
#include "src/model/architecture.hpp"

namespace triax {
namespace {

// Possible names of a tensor in a file: the model's own, and that without the prefix "transformer."
// or "model." of the full model, which some savers omit.
std::vector<std::string> spellings(const std::string& name) {
  std::vector<std::string> all = {name};
  for (const std::string base : {"transformer.", "model."})
    if (name.starts_with(base)) all.push_back(name.substr(base.size()));
  return all;
}

// The tensor's name in the files, including `prefix`; empty if there is none.
std::string find_name(const SafetensorsReader& reader, const std::string& prefix,
                      const std::string& name) {
  for (const std::string& spelling : spellings(name))
    if (reader.contains(prefix + spelling)) return prefix + spelling;
  return {};
}

// Entries of checkpoints that are no parameters: GPT-2's causal mask and rotary frequencies.
bool is_buffer(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq");
}

// True if two matrices of one shape are equal in 64 rows spread over them. A head trained on its
// own differs everywhere.
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

// Name in the files of the matrix that is both embedding and head; some savers keep only the head's
// name. If both exist and differ, transformers 4 uses the embedding for both and transformers 5
// uses each, so the user must decide.
std::string find_tied(const SafetensorsReader& reader, const std::string& prefix,
                      const std::string& directory, const ModelNames& names) {
  std::string embedding = find_name(reader, prefix, names.token_embedding);
  const std::string head = prefix + names.head;
  if (embedding.empty()) return find_name(reader, prefix, names.head);
  if (reader.contains(head) && reader.entry(head).shape.rank() == 2 &&
      reader.entry(head).shape == reader.entry(embedding).shape && !alike(reader, embedding, head))
    throw Error(fmt::format("{}: {} and {} differ", directory, embedding, head),
                "config.json ties them: they must be one matrix",
                "For a model with both, set tie_word_embeddings to false in config.json; for one "
                "with the embedding alone, remove the other from the files");
  return embedding;
}

// A prefix, and the name in the files made of it and a tensor's name.
struct LongerName {
  std::string prefix, name;
};

// The first tensor of the model that the files have only under a longer name; empty if none.
LongerName longer_name(const SafetensorsReader& reader, const std::vector<GlobalTensor>& tensors) {
  for (const GlobalTensor& tensor : tensors) {
    if (!find_name(reader, {}, tensor.name).empty()) continue;
    for (const std::string& spelling : spellings(tensor.name))
      for (const auto& [name, entry] : reader.entries())
        if (name.ends_with("." + spelling))
          return {name.substr(0, name.size() - spelling.size()), name};
  }
  return {};
}

// True if all names in the files begin with `prefix`, and without it include those of the model.
bool fits(const SafetensorsReader& reader, const std::string& prefix,
          const std::vector<GlobalTensor>& tensors, const ModelConfig& model) {
  const ModelNames outside = ModelNames::of(model);
  return std::ranges::all_of(reader.entries(),
                             [&](const auto& entry) { return entry.first.starts_with(prefix); }) &&
         std::ranges::all_of(tensors, [&](const GlobalTensor& tensor) {
           const bool tied = model.tied_embeddings && tensor.name == outside.token_embedding;
           return !find_name(reader, prefix, tensor.name).empty() ||
                  (tied && reader.contains(prefix + outside.head));
         });
}

[[noreturn]] void fail_for_missing(const std::string& directory, const std::string& tensor,
                                   const LongerName& longer) {
  if (longer.prefix.empty())
    throw Error(fmt::format("{}: tensor {} is missing", directory, tensor),
                "the model of config.json needs it",
                "Check that weights and config.json belong together");
  throw Error(fmt::format("{}: tensor {} is missing", directory, tensor),
              fmt::format("the files have {}, and without the prefix {} their tensors are not "
                          "those of the model of config.json",
                          longer.name, longer.prefix),
              "Save the weights without the prefix, and check that config.json belongs to them");
}

}  // namespace

std::vector<std::string> WeightNames::warnings(const std::string& directory) const {
  std::vector<std::string> lines;
  if (!prefix.empty())
    lines.push_back(fmt::format("{}: the names of all tensors begin with {}, which is removed",
                                directory, prefix));
  if (!unused.empty())
    lines.push_back(fmt::format("{}: {} tensors are not part of this model: {}", directory,
                                unused.size(), fmt::join(unused, ", ")));
  return lines;
}

HuggingfaceWeights::HuggingfaceWeights(const std::string& directory, const ModelConfig& model)
    : reader_(directory) {
  std::set<std::string> unused;
  for (const auto& entry : reader_.entries())
    if (!is_buffer(entry.first)) unused.insert(entry.first);
  const ModelNames outside = ModelNames::of(model);
  const std::vector<GlobalTensor> tensors = global_tensors(model);
  const LongerName longer = longer_name(reader_, tensors);
  if (fits(reader_, longer.prefix, tensors, model)) names_.prefix = longer.prefix;
  const std::string& prefix = names_.prefix;
  for (const GlobalTensor& tensor : tensors) {
    const bool tied = model.tied_embeddings && tensor.name == outside.token_embedding;
    const std::string name = tied ? find_tied(reader_, prefix, directory, outside)
                                  : find_name(reader_, prefix, tensor.name);
    if (name.empty()) fail_for_missing(directory, tensor.name, longer);
    const Shape& shape = reader_.entry(name).shape;
    if (shape != tensor.shape)
      throw Error(fmt::format("{}: tensor {} has shape {}", directory, name, shape.text()),
                  fmt::format("config.json asks for {}", tensor.shape.text()),
                  "Check that weights and config.json belong together");
    unused.erase(name);
    name_of_.emplace(tensor.name, name);
  }
  if (model.tied_embeddings) unused.erase(prefix + outside.head);
  names_.unused.assign(unused.begin(), unused.end());
}

void HuggingfaceWeights::read(const std::string& tensor, std::int64_t begin,
                              const Tensor& out) const {
  reader_.read(name_of_.at(tensor), begin, out);
}

DType HuggingfaceWeights::type() const {
  const auto of = [&](const std::string& name) { return reader_.entries().at(name).dtype; };
  const DType first = of(name_of_.begin()->second);
  for (const auto& [tensor, name] : name_of_)
    if (of(name) != first) return DType::f32;
  return first == DType::bf16 || first == DType::f16 ? first : DType::f32;
}

}  // namespace triax
