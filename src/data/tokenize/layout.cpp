// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/layout.hpp"

#include <array>
#include <cmath>

#include "io/tokens/write/document_lengths.hpp"
#include "kernels/base/check.hpp"
#include "src/data/tokenize/parts.hpp"

namespace triax {

OutputPosition Layout::extent(std::int64_t extent) const {
  const auto at = static_cast<std::size_t>(extent) * 2;
  return {extents_[at], extents_[at + 1]};
}

PlacedDocument Layout::document(std::int64_t position) const {
  if (order_) position = static_cast<std::int64_t>((*order_)(static_cast<std::uint64_t>(position)));
  return load<PlacedDocument>(table_->data() +
                              position * static_cast<std::int64_t>(sizeof(PlacedDocument)));
}

namespace {

std::string table_path(const std::string& directory, std::size_t set) {
  return fmt::format("{}/table-{}", directory, set);
}

// Whether a document belongs to the validation set: a function of its text.
bool is_held_out(const TextHash& hash, double fraction) {
  constexpr std::uint64_t salt = 0x76616c6964617465u;
  return static_cast<double>(splitmix64(hash.low ^ salt)) < std::ldexp(fraction, 64);
}

// Writes the table of each set: the kept documents in the order of the inputs.
void write_tables(const TokenizeOptions& options, const std::string& directory, std::size_t parts,
                  const DocumentBits& copies, LeftOut& left_out) {
  const std::size_t sets = output_sets(options).size();
  std::vector<std::unique_ptr<OutputFile>> tables;
  for (std::size_t s = 0; s < sets; ++s)
    tables.push_back(std::make_unique<OutputFile>(table_path(directory, s)));
  const std::int64_t least = options.min_length + (options.end_token ? 1 : 0);
  DocumentScan scan(directory, parts);
  DocumentScan::Document document;
  std::int64_t kept = 0;
  const auto wanted = [&] { return options.max_documents == 0 || kept < options.max_documents; };
  for (std::int64_t d = 0; wanted() && scan.next(document); ++d) {
    if (document.left_out) continue;
    if (document.tokens < least) {
      ++left_out.too_short;
    } else if (options.deduplicate && copies[d]) {
      ++left_out.duplicates;
    } else {
      const PlacedDocument place{document.unit, document.offset, document.tokens};
      const bool held_out = sets == 2 && is_held_out(document.hash, options.validation_fraction);
      tables[held_out ? 1 : 0]->append_values(std::span<const PlacedDocument>(&place, 1));
      ++kept;
    }
  }
  for (const auto& table : tables) table->close(OutputFile::Sync::does_not);
}

[[noreturn]] void fail_without_documents(const OutputSet& set) {
  if (set.validation)
    throw UsageError("the validation set has no document",
                     "a document belongs to it by the hash of its text, and there are few",
                     "Set --validation-fraction to more, or to 0");
  throw UsageError(set.prefix + " would have no document", "none was found, or all were left out",
                   "Check the inputs, --min-length and --invalid");
}

}  // namespace

// Fills a Layout; rank 0 walks over the documents, the others get its numbers.
class LayoutMaker {
 public:
  LayoutMaker(const TokenizeOptions& options, const OutputSet& set, std::string directory,
              std::size_t number)
      : options_(options), set_(set), directory_(std::move(directory)), number_(number) {}

  Layout make(const Ranks& ranks) {
    Layout layout;
    layout.lengths_path_ = fmt::format("{}/lengths-{}", directory_, number_);
    agreed(ranks, [&] { open_table(layout); });
    agreed(ranks, [&] {
      if (ranks.rank == 0) walk(layout);
    });
    std::array<std::int64_t, 2> numbers = {layout.tokens_, std::ssize(layout.extents_)};
    broadcast_numbers(ranks, numbers, 0);
    layout.tokens_ = numbers[0];
    layout.extents_.resize(static_cast<std::size_t>(numbers[1]));
    broadcast_numbers(ranks, layout.extents_, 0);
    return layout;
  }

 private:
  void open_table(Layout& layout) const {
    const std::string path = table_path(directory_, number_);
    layout.table_ = std::make_shared<const MappedFile>(path);
    layout.documents_ = static_cast<std::int64_t>(layout.table_->size() / sizeof(PlacedDocument));
    if (layout.documents_ == 0) fail_without_documents(set_);
    if (options_.shuffle_seed)
      layout.order_.emplace(static_cast<std::uint64_t>(layout.documents_), *options_.shuffle_seed,
                            number_);
  }

  static void walk(Layout& layout) {
    LengthsWriter lengths(layout.lengths_path_);
    for (std::int64_t d = 0; d < layout.documents_; ++d) {
      const std::int64_t tokens = layout.document(d).tokens;
      lengths.add(tokens);
      std::int64_t begin = std::ssize(layout.extents_) / 2 * extent_tokens;
      for (; begin < layout.tokens_ + tokens; begin += extent_tokens) {
        layout.extents_.push_back(d);
        layout.extents_.push_back(begin - layout.tokens_);
      }
      layout.tokens_ += tokens;
    }
    lengths.close();
  }

  const TokenizeOptions& options_;
  const OutputSet& set_;
  std::string directory_;
  std::size_t number_;
};

std::vector<Layout> make_layouts(const TokenizeOptions& options, const std::string& directory,
                                 std::size_t parts, const DocumentBits& copies, const Ranks& ranks,
                                 LeftOut& left_out) {
  agreed(ranks, [&] {
    if (ranks.rank == 0) write_tables(options, directory, parts, copies, left_out);
  });
  std::vector<Layout> layouts;
  const std::vector<OutputSet> sets = output_sets(options);
  for (std::size_t s = 0; s < sets.size(); ++s)
    layouts.push_back(LayoutMaker(options, sets[s], directory, s).make(ranks));
  return layouts;
}

}  // namespace triax
