// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/tokenize.hpp"

#include <array>
#include <optional>

#include "kernels/base/check.hpp"
#include "src/data/tokenize/assemble.hpp"
#include "src/data/tokenize/encode_units.hpp"
#include "src/data/tokenize/parts.hpp"
#include "src/data/tokenize/work_directory.hpp"
#include "src/data/units/progress.hpp"

namespace triax {
namespace {

// Sums over the parts that exist. With max_documents the parts end where the first is missing.
struct PartSums {
  std::size_t parts = 0;
  std::int64_t documents = 0;
  PartCounts counts;
};

PartSums sum_parts(const std::string& directory, std::size_t units) {
  PartSums sums;
  for (; sums.parts < units; ++sums.parts) {
    const auto counts = part_counts(directory, sums.parts);
    if (!counts) break;
    sums.documents += counts->documents;
    sums.counts.replaced += counts->replaced;
    sums.counts.invalid += counts->invalid;
    sums.counts.bad_lines += counts->bad_lines;
  }
  return sums;
}

class Tokenization {
 public:
  Tokenization(const TokenizeOptions& options, const Ranks& ranks)
      : options_(options), ranks_(ranks), directory_(WorkDirectory::path_of(options.out)) {}

  TokenizeReport run() {
    agreed(ranks_, [&] { find(); });
    const std::string job = broadcast_text(ranks_, job_);
    agreed(ranks_, [&] {
      if (job != job_)
        throw Error(
            "ranks see different input files", "sizes or times differ between nodes",
            "Put the files on a file system that all nodes share, and let nobody write to them");
    });
    if (done_before()) return report_;
    agreed(ranks_, [&] {
      if (ranks_.rank == 0) work_.emplace(options_.out, job_);
    });
    encode();
    write();
    agreed(ranks_, [&] {
      if (ranks_.rank == 0) work_->remove();
    });
    return report_;
  }

 private:
  void find() {
    files_ = find_inputs(options_.inputs, options_.input_format);
    units_ = cut_units(files_);
    job_ = job_fingerprint(options_, files_);
    for (const InputFile& file : files_) report_.bytes += file.bytes;
    report_.units = std::ssize(units_);
    for (const OutputSet& set : output_sets(options_))
      report_.files.push_back(first_file(options_.format, set.prefix));
    if (units_.empty())
      throw UsageError("the input files are empty", {}, "Give files with documents in them");
  }

  bool done_before() {
    std::array<std::int64_t, 1> done{};
    agreed(ranks_, [&] {
      if (ranks_.rank != 0 || look_for_outputs(options_, job_) == Found::nothing) return;
      done[0] = 1;
      remove_remains(options_.out, job_);
    });
    broadcast_numbers(ranks_, done, 0);
    report_.done_before = done[0] == 1;
    return report_.done_before;
  }

  void encode() {
    ProgressLine line("tokenize", report_.bytes, ranks_.rank == 0);
    std::array<std::uint64_t, 1> resumed = {
        static_cast<std::uint64_t>(encode_units({options_, files_, units_, directory_}, ranks_,
                                                [&](std::int64_t bytes) { line.show(bytes); }))};
    sum_over_ranks(ranks_, resumed);
    report_.resumed_units = static_cast<std::int64_t>(resumed[0]);
  }

  void write() {
    PartSums sums;
    agreed(ranks_, [&] { sums = sum_parts(directory_, units_.size()); });
    report_.replaced = sums.counts.replaced;
    report_.invalid = sums.counts.invalid;
    report_.bad_lines = sums.counts.bad_lines;
    if (report_.bad_lines > options_.skip_bad)
      throw Error(fmt::format("{} lines are bad", report_.bad_lines),
                  fmt::format("--skip-bad allows {}", options_.skip_bad),
                  "Repair the files, or set --skip-bad to more");
    const std::int64_t least = options_.min_length + (options_.end_token ? 1 : 0);
    DocumentBits copies(0);
    if (options_.deduplicate)
      copies = find_duplicates(directory_, sums.parts, sums.documents, least, ranks_);
    LeftOut left_out;
    const std::vector<Layout> layouts =
        make_layouts(options_, directory_, sums.parts, copies, ranks_, left_out);
    report_.duplicates = left_out.duplicates;
    report_.too_short = left_out.too_short;
    write_outputs(layouts);
  }

  void write_outputs(const std::vector<Layout>& layouts) {
    const std::vector<OutputSet> sets = output_sets(options_);
    std::vector<std::unique_ptr<TokenWriter>> writers;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      writers.push_back(assemble(options_, sets[s], layouts[s], directory_, job_, ranks_));
      report_.documents += layouts[s].documents();
      report_.tokens += layouts[s].tokens();
      if (sets[s].validation) report_.validation_documents = layouts[s].documents();
    }
    agreed(ranks_, [&] {
      if (ranks_.rank == 0)
        for (const auto& writer : writers) publish(*writer);
    });
  }

  const TokenizeOptions& options_;
  const Ranks& ranks_;
  std::string directory_;  // of the parts
  std::vector<InputFile> files_;
  std::vector<Unit> units_;
  std::string job_;
  std::optional<WorkDirectory> work_;  // of rank 0
  TokenizeReport report_;
};

}  // namespace

TokenizeReport tokenize(const TokenizeOptions& options, const Ranks& ranks) {
  check(options.workers >= 1 && !options.out.empty() && options.tokenizer != nullptr,
        "a job of {} workers", options.workers);
  return Tokenization(options, ranks).run();
}

}  // namespace triax
