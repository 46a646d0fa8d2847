// SPDX-License-Identifier: Apache-2.0
#include "src/data/files/merge.hpp"

#include <algorithm>
#include <filesystem>

#include "io/tokens/write/document_lengths.hpp"
#include "kernels/base/check.hpp"
#include "src/data/files/inspect.hpp"
#include "src/data/files/token_set.hpp"
#include "src/data/tokenize/text_hash.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// Removes the directory of unfinished files at the end, whatever the end is.
class MergeDirectory {
 public:
  explicit MergeDirectory(std::string path) : path_(std::move(path)) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error)
      throw Error("cannot create " + path_, error.message(),
                  "Set --out to a directory that is writable");
  }
  ~MergeDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  MergeDirectory(const MergeDirectory&) = delete;
  MergeDirectory& operator=(const MergeDirectory&) = delete;

 private:
  std::string path_;
};

class Merge {
 public:
  explicit Merge(const MergeOptions& options) : options_(options) {
    for (const std::string& path : options.files) sets_.push_back(std::make_unique<TokenSet>(path));
    const auto own = token_format(sets_.front()->format());
    format_ = options.format.value_or(own.value_or(TokenFormat::hdf5));
    for (const std::string& taken :
         {first_file(format_, options.out), last_file(format_, options.out)})
      if (std::error_code ignored; fs::exists(taken, ignored))
        throw UsageError(taken + " is there already", {},
                         "Remove it, or set --out to another prefix");
    agree_on_tokenizer();
  }

  TokenFacts run() {
    const std::string directory = options_.out + ".merge";
    const MergeDirectory kept(directory);
    const std::string lengths = directory + "/lengths";
    write_lengths(lengths);
    const auto writer = make_token_writer(format_, {.prefix = options_.out,
                                                    .directory = directory,
                                                    .tokens = facts_.tokens,
                                                    .documents = facts_.documents,
                                                    .vocabulary = facts_.vocabulary,
                                                    .shard_tokens = options_.shard_tokens});
    writer->begin();
    write_tokens(*writer);
    writer->finish(lengths, facts_);
    publish(*writer);
    return facts_;
  }

 private:
  void agree_on_tokenizer() {
    const auto facts_of = [](const TokenSet& set) { return set.facts().value_or(TokenFacts{}); };
    facts_ = facts_of(*sets_.front());
    std::string jobs;
    for (const auto& set : sets_) {
      const TokenFacts own = facts_of(*set);
      if (own.tokenizer != facts_.tokenizer)
        throw UsageError(fmt::format("{} and {} were not made by one tokenizer",
                                     sets_.front()->path(), set->path()),
                         fmt::format("their fingerprints are {} and {}", named(facts_.tokenizer),
                                     named(own.tokenizer)),
                         "Merge files of one tokenizer; make those of another program again");
      if (own.end_token != facts_.end_token) facts_.end_token = -1;
      jobs += own.job + '\n';
      // Another program's file does not tell its vocabulary.
      const std::int64_t ids =
          set->facts() ? own.vocabulary : std::int64_t{statistics_of(*set).largest_id} + 1;
      facts_.vocabulary = std::max(facts_.vocabulary, ids);
    }
    const TextHash hash = text_hash("merge\n" + jobs);
    facts_.job = fmt::format("{:016x}{:016x}", hash.high, hash.low);
    facts_.version = version;
    facts_.documents = facts_.tokens = 0;
    facts_.checksum = 0;
  }
  static std::string named(const std::string& fingerprint) {
    return fingerprint.empty() ? "unknown" : fingerprint;
  }

  void write_lengths(const std::string& path) {
    LengthsWriter lengths(path);
    for (const auto& set : sets_) {
      const auto walk = set->documents();
      std::int64_t tokens = 0;
      while (walk) {
        const auto length = walk->next();
        if (!length) break;
        lengths.add(*length);
        tokens += *length;
        ++facts_.documents;
      }
      // A file that does not tell its documents apart is one.
      if (!walk) {
        lengths.add(tokens = set->size());
        ++facts_.documents;
      }
      if (tokens != set->size())
        throw Error(set->path() + " is damaged",
                    fmt::format("its documents have {} tokens, the file {}", tokens, set->size()),
                    "Make the file again");
      facts_.tokens += tokens;
    }
    lengths.close();
  }

  void write_tokens(TokenWriter& writer) {
    const int width = token_bytes(format_, facts_.vocabulary);
    std::vector<std::int32_t> tokens;
    std::vector<std::uint16_t> narrow;
    for (std::int64_t e = 0; e * extent_tokens < facts_.tokens; ++e) {
      const std::int64_t begin = e * extent_tokens;
      tokens.resize(static_cast<std::size_t>(std::min(extent_tokens, facts_.tokens - begin)));
      read(begin, tokens);
      auto bytes = std::as_bytes(std::span<const std::int32_t>(tokens));
      if (width == 2) {
        narrow.assign(tokens.begin(), tokens.end());
        bytes = std::as_bytes(std::span<const std::uint16_t>(narrow));
      }
      facts_.checksum += token_checksum(begin, bytes.data(), std::ssize(tokens), width);
      writer.write(e, bytes);
    }
    for (const auto& set : sets_) set->check_length();
  }

  // Tokens [begin, begin + out.size()) of all files joined.
  void read(std::int64_t begin, std::span<std::int32_t> out) const {
    for (const auto& set : sets_) {
      if (begin >= set->size()) {
        begin -= set->size();
        continue;
      }
      const auto count = static_cast<std::size_t>(std::min(set->size() - begin, std::ssize(out)));
      set->read(begin, out.first(count));
      out = out.subspan(count);
      begin = 0;
      if (out.empty()) return;
    }
  }

  const MergeOptions& options_;
  std::vector<std::unique_ptr<TokenSet>> sets_;
  TokenFormat format_ = TokenFormat::hdf5;
  TokenFacts facts_;
};

}  // namespace

TokenFacts merge_token_files(const MergeOptions& options) {
  check(!options.files.empty(), "no files to merge");
  return Merge(options).run();
}

}  // namespace triax
