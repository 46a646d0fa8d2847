// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/huggingface_weights.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include "kernels/base/check.hpp"
#include "src/model/families/families.hpp"

namespace triax {
namespace {

// Possible names of a tensor in a file: the model's own, and that without the prefix ("model.") of
// the model without its head, which some savers omit.
std::vector<std::string> spellings(const std::string& name) {
  std::vector<std::string> all = {name};
  for (const Family* family : all_families()) {
    const std::string base = family->block.outside.base;
    if (name.starts_with(base)) {
      all.push_back(name.substr(base.size()));
      break;
    }
  }
  return all;
}

// Attributes that PyTorch's wrappers of a module (torch.compile, FSDP, activation checkpoints) put
// into the names of its tensors.
constexpr std::array<std::string_view, 3> known_wrappers = {"_orig_mod.", "_fsdp_wrapped_module.",
                                                            "_checkpoint_wrapped_module."};

// Names of the tensors in the files.
struct FileNames {
  std::map<std::string, std::string> in_files;  // name in the files, by the name to search for
  std::set<std::string> removed;                // wrappers that the names to search for lack
  std::size_t wrapped = 0;                      // number of names with a wrapper
  bool unique = true;                           // false: two names are one without wrappers

  bool contains(const std::string& name) const { return in_files.contains(name); }
};

FileNames names_in(const WeightFiles& reader) {
  FileNames names;
  for (const auto& [name, entry] : reader.entries()) names.in_files.emplace(name, name);
  return names;
}

FileNames without_wrappers(const WeightFiles& reader) {
  FileNames names;
  for (const auto& [name, entry] : reader.entries()) {
    std::string plain = name;
    for (const std::string_view wrapper : known_wrappers)
      for (std::size_t at = 0; (at = plain.find(wrapper, at)) != plain.npos;) {
        if (at > 0 && plain[at - 1] != '.') {
          ++at;
          continue;
        }
        plain.erase(at, wrapper.size());
        names.removed.emplace(wrapper);
      }
    names.wrapped += plain != name ? 1 : 0;
    names.unique = names.in_files.emplace(plain, name).second && names.unique;
  }
  return names;
}

// The tensor's name in `files`, including `prefix`; empty if there is none.
std::string find_name(const FileNames& files, const std::string& prefix, const std::string& name) {
  for (const std::string& spelling : spellings(name))
    if (files.contains(prefix + spelling)) return prefix + spelling;
  return {};
}

// Entries of checkpoints that are no parameters: causal masks (GPT-2, GPT-NeoX) and rotary
// frequencies.
bool is_buffer(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".attention.bias") || name.ends_with(".attention.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq");
}

// True if two matrices of one shape are equal in 64 rows spread over them. A head trained on its
// own differs everywhere.
bool alike(const WeightFiles& reader, const std::string& one, const std::string& other) {
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

// Name in `files` of the matrix that is both embedding and head; some savers keep only the head's
// name. If both exist and differ, transformers 4 uses the embedding for both and transformers 5
// uses each, so the user must decide.
std::string find_tied(const WeightFiles& reader, const FileNames& files, const std::string& prefix,
                      const std::string& directory, const ModelNames& names) {
  std::string found = find_name(files, prefix, names.token_embedding);
  if (found.empty()) return find_name(files, prefix, names.head);
  if (!files.contains(prefix + names.head)) return found;
  const std::string& embedding = files.in_files.at(found);
  const std::string& head = files.in_files.at(prefix + names.head);
  if (reader.entry(head).shape.rank() == 2 &&
      reader.entry(head).shape == reader.entry(embedding).shape && !alike(reader, embedding, head))
    throw Error(fmt::format("{}: {} and {} differ", directory, embedding, head),
                "config.json ties them: they must be one matrix",
                "For a model with both, set tie_word_embeddings to false in config.json; for one "
                "with the embedding alone, remove the other from the files");
  return found;
}

// A prefix, and the name in the files made of it and a tensor's name.
struct LongerName {
  std::string prefix, name;
};

// The first tensor of the model that `files` have only under a longer name; empty if none.
LongerName longer_name(const FileNames& files, const std::vector<GlobalTensor>& tensors) {
  for (const GlobalTensor& tensor : tensors) {
    if (!find_name(files, {}, tensor.name).empty()) continue;
    for (const std::string& spelling : spellings(tensor.name))
      for (const auto& [name, in_files] : files.in_files)
        if (name.ends_with("." + spelling))
          return {name.substr(0, name.size() - spelling.size()), in_files};
  }
  return {};
}

// True if all names begin with `prefix`, and without it include those of the model.
bool fits(const FileNames& files, const std::string& prefix,
          const std::vector<GlobalTensor>& tensors, const ModelConfig& model) {
  const ModelNames& outside = family_of(model).block.outside;
  return files.unique &&
         std::ranges::all_of(files.in_files,
                             [&](const auto& name) { return name.first.starts_with(prefix); }) &&
         std::ranges::all_of(tensors, [&](const GlobalTensor& tensor) {
           const bool tied = model.tied_embeddings && tensor.name == outside.token_embedding;
           return !find_name(files, prefix, tensor.name).empty() ||
                  (tied && files.contains(prefix + outside.head));
         });
}

// The name in the files of `tensor`, or else of another tensor, that has a wrapper.
std::string wrapped_name(const FileNames& plain, const std::string& tensor) {
  const std::string found = find_name(plain, {}, tensor);
  if (!found.empty() && plain.in_files.at(found) != found) return plain.in_files.at(found);
  const auto first = std::ranges::find_if(
      plain.in_files, [](const auto& name) { return name.first != name.second; });
  return first == plain.in_files.end() ? "" : first->second;
}

[[noreturn]] void fail_for_missing(const std::string& directory, const std::string& tensor,
                                   const LongerName& longer, const FileNames& plain) {
  const std::string wrapped = wrapped_name(plain, tensor);
  if (longer.prefix.empty() && wrapped.empty())
    throw Error(fmt::format("{}: tensor {} is missing", directory, tensor),
                "the model of config.json needs it",
                "Check that weights and config.json belong together");
  const bool prefix = wrapped.empty();
  throw Error(
      fmt::format("{}: tensor {} is missing", directory, tensor),
      fmt::format("the files have {}, and without {}{} their tensors are not those of the "
                  "model of config.json",
                  prefix ? longer.name : wrapped, prefix ? "the prefix " : "",
                  prefix ? longer.prefix : fmt::format("{}", fmt::join(plain.removed, ", "))),
      fmt::format("Save the weights without {}, and check that config.json belongs to them",
                  prefix ? "the prefix" : "it"));
}

}  // namespace

std::vector<std::string> WeightNames::warnings(const std::string& directory) const {
  std::vector<std::string> lines;
  if (!prefix.empty())
    lines.push_back(fmt::format("{}: the names of all tensors begin with {}, which is removed",
                                directory, prefix));
  if (wrapped > 0)
    lines.push_back(fmt::format("{}: the names of {} tensors contain {}, which is removed",
                                directory, wrapped, fmt::join(wrappers, " or ")));
  if (!unused.empty())
    lines.push_back(fmt::format("{}: {} tensors are not part of this model: {}", directory,
                                unused.size(), fmt::join(unused, ", ")));
  return lines;
}

HuggingfaceWeights::HuggingfaceWeights(const std::string& directory, const ModelConfig& model)
    : reader_(directory, family_of(model).block.order == WeightOrder::input_output) {
  const ModelNames& outside = family_of(model).block.outside;
  const std::vector<GlobalTensor> tensors = global_tensors(base_of(model));
  FileNames files = names_in(reader_);
  const LongerName longer = longer_name(files, tensors);
  const FileNames plain = without_wrappers(reader_);
  if (fits(files, longer.prefix, tensors, model)) {
    names_.prefix = longer.prefix;
  } else if (const std::string prefix = longer_name(plain, tensors).prefix;
             plain.wrapped > 0 && fits(plain, prefix, tensors, model)) {
    files = plain;
    names_.prefix = prefix;
    names_.wrappers = plain.removed;
    names_.wrapped = plain.wrapped;
  }
  std::set<std::string> unused;
  for (const auto& [name, in_files] : files.in_files)
    if (!is_buffer(name)) unused.insert(in_files);
  const std::string& prefix = names_.prefix;
  for (const GlobalTensor& tensor : tensors) {
    const bool tied = model.tied_embeddings && tensor.name == outside.token_embedding;
    const std::string found = tied ? find_tied(reader_, files, prefix, directory, outside)
                                   : find_name(files, prefix, tensor.name);
    if (found.empty()) fail_for_missing(directory, tensor.name, longer, plain);
    const std::string& name = files.in_files.at(found);
    const Shape& shape = reader_.entry(name).shape;
    if (shape != tensor.shape)
      throw Error(fmt::format("{}: tensor {} has shape {}", directory, name, shape.text()),
                  fmt::format("config.json asks for {}", tensor.shape.text()),
                  "Check that weights and config.json belong together");
    unused.erase(name);
    name_of_.emplace(tensor.name, name);
  }
  if (const auto head = files.in_files.find(prefix + outside.head);
      model.tied_embeddings && head != files.in_files.end())
    unused.erase(head->second);
  names_.unused.assign(unused.begin(), unused.end());
}

void HuggingfaceWeights::read(const std::string& tensor, std::int64_t begin,
                              const Tensor& out) const {
  reader_.read(name_of_.at(tensor), begin, out);
}

void HuggingfaceWeights::read_box(const std::string& tensor, const PackedBox& box,
                                  const PackedParts& parts) const {
  reader_.read_box(name_of_.at(tensor), box, parts);
}

DType HuggingfaceWeights::type() const {
  const auto of = [&](const std::string& name) { return reader_.entries().at(name).dtype; };
  const DType first = of(name_of_.begin()->second);
  for (const auto& [tensor, name] : name_of_)
    if (of(name) != first) return DType::f32;
  return first == DType::bf16 || first == DType::f16 ? first : DType::f32;
}

}  // namespace triax
