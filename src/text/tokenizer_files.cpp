// SPDX-License-Identifier: Apache-2.0
#include "src/text/tokenizer_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "io/files/mapped_file.hpp"
#include "io/hub/hub_directory.hpp"
#include "io/hub/lfs_pointer.hpp"
#include "kernels/base/check.hpp"
#include "src/text/files/tokenizer_config.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// Where a directory has several, the first counts: transformers reads tokenizer.json as well.
constexpr std::array defining_names = {"tokenizer.json", "tekken.json", "tokenizer.model",
                                       "vocab.json", "encoder.json"};
// Files that a vocabulary needs, by its name.
struct Pair {
  const char *vocabulary, *merges;
};
constexpr std::array<Pair, 2> pairs = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};
// Files beside a tokenizer, whatever defines it.
constexpr std::array beside_names = {"tokenizer_config.json", "special_tokens_map.json",
                                     "added_tokens.json",     "generation_config.json",
                                     "chat_template.jinja",   "chat_template.json"};
constexpr const char* more_templates = "additional_chat_templates";

void add(TokenizerFiles& files, const fs::path& folder, const std::string& name) {
  const std::string path = (folder / name).string();
  refuse_dangling_link(path);
  if (std::error_code ignored; !fs::exists(path, ignored)) return;
  const MappedFile file(path);
  refuse_lfs_pointer(file);
  files.bytes[name].assign(reinterpret_cast<const char*>(file.data()), file.size());
  file.check_length();
}

// Named chat templates, each in a file of a folder.
void add_more_templates(TokenizerFiles& files, const fs::path& folder) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / more_templates, none))
    if (entry.path().extension() == ".jinja")
      add(files, folder, (fs::path(more_templates) / entry.path().filename()).string());
}

}  // namespace

std::string defining_file(const TokenizerFiles& files) {
  const auto* const found =
      std::ranges::find_if(defining_names, [&](const char* name) { return files.find(name); });
  return found == defining_names.end() ? "" : *found;
}

bool is_tokenizer_file(const std::string& name) {
  return std::ranges::find(defining_names, name) != defining_names.end() ||
         std::ranges::find(beside_names, name) != beside_names.end() ||
         std::ranges::any_of(pairs, [&](const Pair& pair) { return name == pair.merges; });
}

TokenizerFiles read_tokenizer_files(const std::string& named) {
  TokenizerFiles files;
  const std::string prefix = gpt2_prefix;
  const bool gpt2 = named.starts_with(prefix);
  const std::string path = hub_snapshot(gpt2 ? named.substr(prefix.size()) : named);
  if (gpt2) files.class_name = "GPT2Tokenizer";
  const bool directory = fs::is_directory(path);
  refuse_dangling_link(path);
  if (!directory && !fs::exists(path))
    throw UsageError(path + " does not exist", {}, "Name a tokenizer's directory or file");
  const fs::path folder = directory ? fs::path(path) : fs::path(path).parent_path();
  files.place = directory ? path : folder.string();
  for (const char* name : beside_names) add(files, folder, name);
  add_more_templates(files, folder);
  if (directory) {
    for (const char* name : defining_names) add(files, folder, name);
    for (const Pair& pair : pairs) add(files, folder, pair.merges);
    files.tokenizer = defining_file(files);
  } else {
    files.tokenizer = fs::path(path).filename().string();
    add(files, folder, files.tokenizer);
    for (const Pair& pair : pairs)
      if (files.tokenizer == pair.vocabulary) add(files, folder, pair.merges);
  }
  // GPT-2's published files name the end of a text in the model's config.json alone.
  if (!files.tokenizer.empty() && !read_tokenizer_config(files).end)
    add(files, folder, "config.json");
  return files;
}

}  // namespace triax
