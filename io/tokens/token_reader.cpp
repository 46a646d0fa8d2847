// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/token_reader.hpp"

#include <algorithm>
#include <utility>

#include "io/tokens/permutation.hpp"
#include "io/tokens/token_facts.hpp"
#include "kernels/base/check.hpp"

namespace triax {

void TokenFile::read_starts(std::int64_t, std::span<std::uint8_t>) const {
  check(false, "documents of a {} file", format());
}

struct TokenReader::Impl {
  struct Part {
    std::string path;
    std::unique_ptr<TokenFile> file;
    std::int64_t begin;              // index of its first token in the whole sequence
    mutable bool unchecked = false;  // read since the last check of its length
    std::int64_t end_token = -1;     // of its documents, where the file does not have them
  };
  std::vector<Part> parts;
  std::int64_t tokens = 0;
  std::int64_t length = 0;  // T
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::int64_t vocabulary = 0;  // 0: not checked
  bool finds_documents = false, ignores_first = false;

  std::int64_t samples() const { return (tokens - 1) / length; }
  // `labels` and `starts`: as many as `out`, or none.
  void read(std::int64_t begin, std::span<std::int32_t> out, std::span<std::int32_t> labels,
            std::span<std::uint8_t> starts) const;
  // Throws a Failure for an id outside the vocabulary.
  template <class Failure>
  void check_ids(const Part& part, std::int64_t begin, std::span<const std::int32_t> ids) const;
  template <class Failure>
  void check_labels(const Part& part, std::int64_t begin,
                    std::span<const std::int32_t> labels) const;
};

template <class Failure>
void TokenReader::Impl::check_ids(const Part& part, std::int64_t begin,
                                  std::span<const std::int32_t> ids) const {
  if (vocabulary == 0) return;
  const auto bad =
      std::ranges::find_if(ids, [&](std::int32_t id) { return id < 0 || id >= vocabulary; });
  if (bad == ids.end()) return;
  throw Failure(fmt::format("{} does not fit the model's vocabulary", part.path),
                fmt::format("token {} of the file is {}, the vocabulary has {}",
                            begin + (bad - ids.begin()), *bad, vocabulary),
                "Use data made with the model's tokenizer, or set the model's vocab_size");
}

template <class Failure>
void TokenReader::Impl::check_labels(const Part& part, std::int64_t begin,
                                     std::span<const std::int32_t> labels) const {
  if (vocabulary == 0) return;
  const auto bad = std::ranges::find_if(labels, [&](std::int32_t label) {
    return label != ignored_label && (label < 0 || label >= vocabulary);
  });
  if (bad == labels.end()) return;
  throw Failure(fmt::format("{} has a wrong label", part.path),
                fmt::format("label {} of the file is {}; the vocabulary has {} tokens",
                            begin + (bad - labels.begin()), *bad, vocabulary),
                fmt::format("Labels are token ids, or {} for tokens that do not count. Make the "
                            "file with the model's tokenizer",
                            ignored_label));
}

namespace {

// First tokens of documents that end with `end_token`, among the tokens of one file.
void mark_behind_ends(std::span<const std::int32_t> tokens, std::int64_t end_token,
                      std::span<std::uint8_t> starts) {
  starts.front() = 1;  // of the file, or of the sample
  for (std::size_t i = 1; i < tokens.size(); ++i)
    starts[i] = static_cast<std::uint8_t>(tokens[i - 1] == end_token);
}

}  // namespace

void TokenReader::Impl::read(std::int64_t begin, std::span<std::int32_t> out,
                             std::span<std::int32_t> labels, std::span<std::uint8_t> starts) const {
  auto part = std::ranges::upper_bound(parts, begin, {}, &Part::begin) - 1;
  for (; !out.empty(); ++part) {
    const std::int64_t within = begin - part->begin;
    const std::int64_t count = std::min(part->file->size() - within, std::ssize(out));
    const auto piece = out.first(static_cast<std::size_t>(count));
    part->file->read(within, piece);
    part->unchecked = true;
    check_ids<Error>(*part, within, piece);
    if (!labels.empty()) {
      const auto of_piece = labels.first(piece.size());
      part->file->read_labels(within, of_piece);
      check_labels<Error>(*part, within, of_piece);
      labels = labels.subspan(piece.size());
    }
    if (!starts.empty()) {
      const auto of_piece = starts.first(piece.size());
      if (part->file->has_documents())
        part->file->read_starts(within, of_piece);
      else
        mark_behind_ends(piece, part->end_token, of_piece);
      starts = starts.subspan(piece.size());
    }
    begin += count;
    out = out.subspan(piece.size());
  }
}

TokenReader::TokenReader(const std::vector<std::string>& paths, int sequence_length, bool shuffle,
                         std::uint64_t seed, const Ranks& ranks)
    : impl_(std::make_unique<Impl>()) {
  check(sequence_length >= 1, "sequences of {} tokens", sequence_length);
  if (paths.empty()) throw Error("no data files were given", "", "Name at least one in data.train");
  impl_->length = sequence_length;
  impl_->shuffle = shuffle;
  impl_->seed = seed;
  for (const std::string& path : paths) {
    impl_->parts.push_back({path, open_tokens(path, ranks), impl_->tokens});
    impl_->tokens += impl_->parts.back().file->size();
  }
  if (impl_->samples() < 1)
    throw Error(
        fmt::format("too little data for one sample of data.seq_length {}", sequence_length),
        fmt::format("{}{} {} {} tokens, a sample needs {}", paths.front(),
                    paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "",
                    paths.size() > 1 ? "hold" : "holds", impl_->tokens, sequence_length + 1),
        "Give more data or a shorter data.seq_length");
}

TokenReader::~TokenReader() = default;
TokenReader::TokenReader(TokenReader&&) noexcept = default;

std::int64_t TokenReader::tokens() const {
  return impl_->tokens;
}

std::int64_t TokenReader::samples() const {
  return impl_->samples();
}

bool TokenReader::has_bytes() const {
  return std::ranges::any_of(impl_->parts, [](const Impl::Part& part) {
    return part.file->format() == "text" || part.file->format() == "jsonl";
  });
}

bool TokenReader::has_labels() const {
  return impl_->ignores_first || std::ranges::any_of(impl_->parts, [](const Impl::Part& part) {
           return part.file->has_labels();
         });
}

void TokenReader::set_seed(std::uint64_t seed) {
  impl_->seed = seed;
}

void TokenReader::set_vocabulary(std::int64_t vocabulary) {
  check(vocabulary >= 1, "a vocabulary of {}", vocabulary);
  impl_->vocabulary = vocabulary;
}

void TokenReader::find_documents(std::int64_t end_token, bool ignore_first) {
  for (Impl::Part& part : impl_->parts) {
    if (part.file->has_documents()) continue;
    if (part.file->format() != "text") {
      const std::optional<TokenFacts> facts = token_facts(part.path);
      part.end_token = facts && facts->end_token >= 0 ? facts->end_token : end_token;
    }
    if (part.end_token < 0)
      throw UsageError(
          fmt::format("{} does not tell its documents apart", part.path),
          part.file->format() == "text" ? "it is text, which has no marks between documents"
                                        : "it has no offsets of documents, and no end token of its "
                                          "tokenizer is known",
          "Make token files of the documents (triax data tokenize), name the tokenizer that has "
          "the end token in data.tokenizer, or leave out data.documents and "
          "data.mask_end_token_loss");
  }
  impl_->finds_documents = true;
  impl_->ignores_first = ignore_first;
}

void TokenReader::check_ends() const {
  std::vector<std::int32_t> tokens;
  std::vector<std::uint8_t> starts;
  for (const Impl::Part& part : impl_->parts) {
    const std::int64_t size = part.file->size();
    tokens.resize(static_cast<std::size_t>(std::min(size, impl_->length + 1)));
    for (const std::int64_t begin : {std::int64_t{0}, size - std::ssize(tokens)}) {
      part.file->read(begin, tokens);
      part.file->check_length();
      impl_->check_ids<UsageError>(part, begin, tokens);
      starts.resize(tokens.size());
      if (impl_->finds_documents && part.file->has_documents())
        part.file->read_starts(begin, starts);
      if (!part.file->has_labels()) continue;
      part.file->read_labels(begin, tokens);
      impl_->check_labels<UsageError>(part, begin, tokens);
    }
  }
}

SamplePosition TokenReader::position(std::int64_t index) const {
  check(index >= 0, "sample {}", index);
  const std::int64_t samples = impl_->samples();
  const std::int64_t number = index % samples;
  if (!impl_->shuffle) return {0, number};
  const auto epoch = static_cast<std::uint64_t>(index / samples);
  const Permutation permutation(static_cast<std::uint64_t>(samples), impl_->seed, epoch);
  return {0, static_cast<std::int64_t>(permutation(static_cast<std::uint64_t>(number)))};
}

std::vector<std::int64_t> TokenReader::file_tokens() const {
  std::vector<std::int64_t> tokens;
  for (const Impl::Part& part : impl_->parts) tokens.push_back(part.file->size());
  return tokens;
}

void TokenReader::sample(std::int64_t index, std::span<std::int32_t> out,
                         std::span<std::int32_t> labels, std::span<std::uint8_t> starts) const {
  check(std::ssize(out) == impl_->length + 1, "a sample of {} tokens read into {}",
        impl_->length + 1, out.size());
  check(labels.empty() || labels.size() == out.size(), "{} labels of {} tokens", labels.size(),
        out.size());
  check(starts.empty() || (impl_->finds_documents && starts.size() == out.size()),
        "{} marks of documents of {} tokens", starts.size(), out.size());
  std::vector<std::uint8_t> own;  // where the caller does not want them
  if (starts.empty() && impl_->ignores_first && !labels.empty()) {
    own.resize(out.size());
    starts = own;
  }
  impl_->read(position(index).number * impl_->length, out, labels, starts);
  if (!starts.empty()) starts.front() = 1;
  if (!impl_->ignores_first) return;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (starts[i] != 0) labels[i] = ignored_label;
}

void TokenReader::check_lengths() const {
  for (const Impl::Part& part : impl_->parts)
    if (std::exchange(part.unchecked, false)) part.file->check_length();
}

}  // namespace triax
