// SPDX-License-Identifier: Apache-2.0
#include "src/data/files/token_set.hpp"

#include <algorithm>
#include <filesystem>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::string_view first_shard = "_000000.bin";

// The files of one set. Shards count from 0; the first that is missing ends them.
std::vector<std::string> paths_of(const std::string& path, bool has_facts) {
  std::vector<std::string> paths = {path};
  if (!has_facts || !path.ends_with(first_shard)) return paths;
  const std::string prefix = path.substr(0, path.size() - first_shard.size());
  while (true) {
    std::string next = fmt::format("{}_{:06d}.bin", prefix, paths.size());
    if (!std::filesystem::exists(next)) return paths;
    paths.push_back(std::move(next));
  }
}

}  // namespace

TokenSet::TokenSet(const std::string& path) : path_(path), facts_(token_facts(path)) {
  for (const std::string& file : paths_of(path, facts_.has_value())) {
    files_.push_back(open_tokens(file));
    begins_.push_back(size_);
    size_ += files_.back()->size();
  }
  if (format() == "text" || format() == "jsonl")
    throw UsageError(path + " is text, not tokens", {},
                     "Make a token file of it by triax data tokenize");
}

void TokenSet::read(std::int64_t begin, std::span<std::int32_t> out) const {
  auto file = static_cast<std::size_t>(std::ranges::upper_bound(begins_, begin) - begins_.begin());
  for (--file; !out.empty(); ++file) {
    const std::int64_t within = begin - begins_[file];
    const auto count = std::min(files_[file]->size() - within, std::ssize(out));
    files_[file]->read(within, out.first(static_cast<std::size_t>(count)));
    out = out.subspan(static_cast<std::size_t>(count));
    begin += count;
  }
}

void TokenSet::check_length() const {
  for (const auto& file : files_) file->check_length();
}

std::unique_ptr<DocumentWalk> TokenSet::documents() const {
  return walk_documents(path_, *this, facts_ ? facts_->end_token : -1);
}

void require_same_tokenizer(const TokenSet& set, const Tokenizer& tokenizer) {
  if (!set.facts() || set.facts()->tokenizer == tokenizer.fingerprint()) return;
  throw UsageError(set.path() + " was made by another tokenizer",
                   fmt::format("its fingerprint is {}, that of the tokenizer given {}",
                               set.facts()->tokenizer, tokenizer.fingerprint()),
                   "Give the tokenizer that the file was made with");
}

}  // namespace triax
