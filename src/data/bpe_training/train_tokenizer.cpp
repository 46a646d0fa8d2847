// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/train_tokenizer.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "kernels/base/check.hpp"
#include "src/data/bpe_training/count_words.hpp"
#include "src/data/bpe_training/gather_words.hpp"
#include "src/data/bpe_training/tokenizer_files.hpp"
#include "src/data/units/progress.hpp"
#include "src/text/split/make_splitter.hpp"

namespace triax {
namespace {

class Seconds {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class Training {
 public:
  Training(const TrainTokenizerOptions& options, const Ranks& ranks)
      : options_(options), ranks_(ranks) {}

  TrainTokenizerReport run() {
    agreed(ranks_, [&] { find(); });
    const std::string files = broadcast_text(ranks_, files_text(files_));
    agreed(ranks_, [&] {
      if (files != files_text(files_))
        throw Error(
            "ranks see different input files", "sizes or times differ between nodes",
            "Put the files on a file system that all nodes share, and let nobody write to them");
    });
    TokenWords words(byte_ids(first_tokens(options_.bpe.special)));
    count(words);
    agreed(ranks_, [&] {
      if (report_.words == 0)
        throw UsageError("the input files have no text", {}, "Give files with documents in them");
      if (ranks_.rank == 0) merge(words);
    });
    std::array<std::int64_t, 2> sizes = {report_.vocabulary, report_.merges};
    broadcast_numbers(ranks_, sizes, 0);
    report_.vocabulary = sizes[0];
    report_.merges = sizes[1];
    return report_;
  }

 private:
  void find() {
    check_options(options_);
    if (ranks_.rank == 0) require_free_directory(options_.out, options_.overwrite);
    files_ = find_inputs(options_.inputs, options_.input_format);
    units_ = cut_units(files_);
    for (const InputFile& file : files_) report_.bytes += file.bytes;
  }

  void count(TokenWords& words) {
    Seconds seconds;
    SharedWords shared(word_partitions(ranks_.size));
    {
      ProgressLine line("count words", report_.bytes, ranks_.rank == 0);
      const auto splitter = make_splitter(std::string(word_pattern(options_.pattern).pattern),
                                          "the pattern of words");
      const CorpusCounts counts = count_words({options_, files_, units_, *splitter}, ranks_, shared,
                                              [&](std::int64_t bytes) { line.show(bytes); });
      report_.documents = counts.documents;
      report_.replaced = counts.read.replaced;
      report_.invalid = counts.read.invalid;
      report_.bad_lines = counts.read.bad_lines;
    }
    if (report_.bad_lines > options_.skip_bad)
      throw Error(fmt::format("{} lines are bad", report_.bad_lines),
                  fmt::format("--skip-bad allows {}", options_.skip_bad),
                  "Repair the files, or set --skip-bad to more");
    report_.words = gather_words(shared, ranks_, words);
    report_.count_seconds = seconds.lap();
  }

  void merge(TokenWords& words) {
    Seconds seconds;
    const BpeOptions& bpe = options_.bpe;
    const auto first = static_cast<std::int64_t>(first_tokens(bpe.special).size());
    TrainedBpe trained;
    {
      ProgressLine line("merges", bpe.vocabulary - first, true, number_progress_text);
      trained =
          train_bpe(words, bpe, options_.workers, [&](std::int64_t made) { line.show(made); });
    }
    report_.vocabulary = std::ssize(trained.tokens);
    report_.merges = std::ssize(trained.merges);
    report_.merge_seconds = seconds.lap();
    write_tokenizer(options_.out,
                    tokenizer_json(trained, word_pattern(options_.pattern), bpe.special),
                    tokenizer_config_json(bpe.special.front()));
  }

  const TrainTokenizerOptions& options_;
  const Ranks& ranks_;
  std::vector<InputFile> files_;
  std::vector<Unit> units_;
  TrainTokenizerReport report_;
};

}  // namespace

void check_options(const TrainTokenizerOptions& options) {
  const BpeOptions& bpe = options.bpe;
  word_pattern(options.pattern);
  if (bpe.special.empty())
    throw UsageError("there is no special token", "the first one ends a document",
                     "Set --special to its text");
  const auto least = static_cast<std::int64_t>(first_tokens(bpe.special).size());
  if (bpe.vocabulary < least)
    throw UsageError(fmt::format("a vocabulary of {} entries is too small", bpe.vocabulary),
                     fmt::format("bytes and special tokens are {} entries", least),
                     fmt::format("Set --vocab-size to {} or more", least));
}

TrainTokenizerReport train_tokenizer(const TrainTokenizerOptions& options, const Ranks& ranks) {
  check(options.workers >= 1 && !options.out.empty(), "a job of {} workers", options.workers);
  return Training(options, ranks).run();
}

}  // namespace triax
