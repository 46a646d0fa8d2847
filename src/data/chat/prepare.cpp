// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/prepare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "io/files/mapped_file.hpp"
#include "io/files/sha256.hpp"
#include "src/data/chat/encode_lines.hpp"
#include "src/data/chat/sample_rows.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

bool is_hdf5(const MappedFile& file) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  return file.size() >= static_cast<std::int64_t>(signature.size()) &&
         std::string_view(reinterpret_cast<const char*>(file.data()), signature.size()) ==
             signature;
}

std::string hash_of(const MappedFile& file, const std::string& context, bool last) {
  Sha256 hash;
  hash.add(context);
  if (!last) hash.add("more files follow");
  hash.add({reinterpret_cast<const char*>(file.data()), file.size()});
  return hash.hex().substr(0, 16);
}

// Prepared files of a split.
struct SplitFiles {
  std::vector<std::string> train;  // one for each source
  std::string valid;
};

// "a.jsonl", or "a.jsonl and 2 files more".
std::string name_of(std::span<const std::string> files) {
  return files.size() == 1 ? files.front()
                           : fmt::format("{} and {} files more", files.front(), files.size() - 1);
}

// Makes prepared files, on rank 0.
class Preparation {
 public:
  Preparation(const ChatContext& context, const DataConfig& data, std::string directory,
              int threads)
      : context_(context),
        data_(data),
        directory_(std::move(directory)),
        threads_(threads),
        hash_(context.fingerprint()) {
    if (data.mask_documents) hash_ += data.packing ? " packed" : " documents";
    const Tokenizer& tokenizer = *context.tokenizer.tokenizer;
    std::optional<std::int32_t> fill;
    if (context.tokenizer.config.pad) fill = tokenizer.id_of(*context.tokenizer.config.pad);
    if (!fill) fill = tokenizer.end_token();
    fill_ = fill.value_or(0);
  }

  // Replaces files that are read as one by prepared ones.
  template <class Files>
  void prepare_all(Files&& files) {
    for (std::string& path : files) path = prepare(path, &path == &files.back());
  }

  // Makes a file of each source out of the lines in `rows` of its files, and of a fraction of the
  // lines, if any, another one to validate on.
  SplitFiles split(const std::vector<std::span<const std::string>>& sources, const RowSlice& rows,
                   double fraction) const {
    SplitFiles names = split_names(sources, rows, fraction);
    const std::string slice = rows.is_whole() ? "" : fmt::format("[{}]", text_of(rows));
    const std::string all = fmt::format("{}{}{}", name_of(sources.front()), slice,
                                        sources.size() > 1 ? " and other sources" : "");
    if (std::ranges::all_of(names.train, exists) && (fraction == 0.0 || exists(names.valid))) {
      spdlog::info("data: {} is prepared in {}{}", all, fmt::join(names.train, ", "),
                   fraction == 0.0 ? "" : fmt::format(", and in {} for validation", names.valid));
      return names;
    }
    fs::create_directories(directory_);
    std::optional<SampleFile> valid;
    if (fraction > 0.0) valid.emplace(names.valid + ".samples");
    for (std::size_t i = 0; i < sources.size(); ++i) {
      SampleFile train(names.train[i] + ".samples");
      encode_lines(context_, sources[i], lines_of(sources[i], rows), threads_,
                   {train, valid ? &*valid : nullptr, fraction});
      write(train, name_of(sources[i]) + slice + (valid ? ", for training" : ""), true,
            names.train[i]);
    }
    if (valid) write(*valid, all + ", for validation", true, names.valid);
    return names;
  }

 private:
  static bool exists(const std::string& path) { return fs::exists(path); }

  // Path of the file that takes the place of `path`.
  std::string prepare(const std::string& path, bool last) {
    const MappedFile file(path);
    if (is_hdf5(file)) return path;
    std::string prepared = named(path, hash_of(file, hash_, last));
    if (exists(prepared)) {
      spdlog::info("data: {} is prepared in {}", path, prepared);
      return prepared;
    }
    fs::create_directories(directory_);
    SampleFile samples(prepared + ".samples");
    encode_lines(context_, std::span(&path, 1), all_lines, threads_, {samples});
    write(samples, path, last, prepared);
    return prepared;
  }

  std::string named(const std::string& path, const std::string& hash) const {
    const std::string stem = fs::path(path).filename().string();
    return (fs::path(directory_) / fmt::format("{}-{}.h5", stem, hash)).string();
  }

  static RowRange lines_of(std::span<const std::string> files, const RowSlice& rows) {
    return rows.of(rows.depends_on_count() ? count_lines(files) : all_lines.end);
  }

  // Names with a hash of the files whose lines are in them, of the slice and of the split.
  SplitFiles split_names(const std::vector<std::span<const std::string>>& sources,
                         const RowSlice& rows, double fraction) const {
    SplitFiles names;
    const std::string slice = fmt::format("{} rows {}", hash_, text_of(rows));
    const std::string split = fmt::format("{} without {} of the lines", slice, fraction);
    std::string all = fmt::format("{} {} of the lines", slice, fraction);
    for (const std::span<const std::string> files : sources) {
      std::string source = split;
      for (const std::string& path : files) {
        const MappedFile file(path);
        if (is_hdf5(file))
          throw UsageError(fmt::format("{} takes lines of a file, and {} has none",
                                       fraction > 0.0 ? "data.validation_fraction"
                                                      : "data.train_rows or data.valid_rows",
                                       path),
                           "it holds tokens",
                           "Name the file of JSON lines that it was made of, or leave the key out");
        source += hash_of(file, " file ", true);
      }
      names.train.push_back(named(files.front(), sha256_of(source).substr(0, 16)));
      all += source;
    }
    names.valid = named(sources.front().front(), "validation-" + sha256_of(all).substr(0, 16));
    return names;
  }

  // Writes the rows of `samples`, which are those of `lines`, to `prepared`.
  void write(SampleFile& samples, const std::string& lines, bool last,
             const std::string& prepared) const {
    samples.close();
    const SampleRows rows = data_.packing ? packed_rows_of(samples.lengths(), context_.most_tokens)
                                          : single_rows(samples.size());
    spdlog::info(
        "data: {}: {}", lines,
        counts_text(samples.counts(), rows.size(), context_.most_tokens, context_.pairs()));
    warn(lines, samples.counts());
    if (samples.size() == 0) refuse(lines, samples.counts());
    write_rows(samples, rows,
               {.length = context_.most_tokens,
                .fill = fill_,
                .documents = data_.mask_documents,
                .rows_per_sample = data_.rows_per_sample,
                .last = last},
               prepared);
  }

  [[noreturn]] void refuse(const std::string& lines, const ChatCounts& counts) const {
    const std::string none = fmt::format("{} has no sample that trains", lines);
    const double fraction = context_.config.validation_fraction;
    if (fraction > 0.0 && counts.without_answer == 0)
      throw UsageError(
          fmt::format("{}: there is no sample", lines),
          fmt::format("data.validation_fraction is {}, and no line falls on this side", fraction),
          "Set another fraction, or name validation files in data.valid");
    if (counts.without_answer == 0)
      throw UsageError(fmt::format("{} has no lines", lines),
                       "the files are empty, or a slice of them (data.train_rows, "
                       "data.valid_rows) takes no line",
                       "Name other files, or another slice");
    if (context_.pairs())
      throw UsageError(none,
                       fmt::format("the prompt of {} pairs leaves no room for an answer within {} "
                                   "tokens, or their answers are equal",
                                   counts.without_answer, context_.most_tokens),
                       "Raise data.seq_length, and check that chosen and rejected differ");
    throw UsageError(
        none,
        fmt::format("{} samples have no answer within {} tokens", counts.without_answer,
                    context_.most_tokens),
        "Look at one with triax data show, raise data.seq_length, or set data.train_on to all");
  }

  static void warn(const std::string& path, const ChatCounts& counts) {
    if (counts.open_ends > 0)
      spdlog::warn(
          "data: {}: {} answers end without a special token that trains: the model may not learn "
          "to stop. "
          "Put the end of turn inside of {{% generation %}}",
          path, counts.open_ends);
    if (counts.double_begins > 0)
      spdlog::warn("data: {}: {} samples begin with two begin tokens", path, counts.double_begins);
    if (counts.seams > 0)
      spdlog::warn(
          "data: {}: the tokenizer changes the text of {} samples: their parts are encoded one by "
          "one",
          path, counts.seams);
  }

  const ChatContext& context_;
  const DataConfig& data_;
  std::string directory_;
  int threads_;
  std::string hash_;
  std::int32_t fill_ = 0;
};

// The files of each source, which are read as one.
template <class Names>
auto source_spans(Names& train, const std::vector<DataSource>& sources) {
  std::vector<decltype(std::span(train))> spans;
  std::size_t first = 0;
  for (const DataSource& source : sources) {
    spans.push_back(std::span(train).subspan(first, source.files));
    first += source.files;
  }
  if (sources.empty()) spans.push_back(std::span(train));
  return spans;
}

// Replaces the files of `data` by prepared ones.
void prepare_files(const ChatContext& context, const std::string& directory, int threads,
                   DataConfig& data) {
  Preparation preparation(context, data, directory, threads);
  const RowSlice &train_rows = context.config.train_rows, &valid_rows = context.config.valid_rows;
  const double fraction = context.config.validation_fraction;
  if (fraction == 0.0 && train_rows.is_whole()) {
    for (const auto files : source_spans(data.train, data.sources)) preparation.prepare_all(files);
  } else {
    const SplitFiles split = preparation.split(
        source_spans(std::as_const(data.train), data.sources), train_rows, fraction);
    data.train = split.train;
    if (fraction > 0.0) data.valid = {split.valid};
  }
  if (fraction > 0.0) return;
  if (valid_rows.is_whole())
    preparation.prepare_all(data.valid);
  else
    data.valid = preparation.split({data.valid}, valid_rows, 0.0).train;
}

}  // namespace

std::string counts_text(const ChatCounts& counts, std::int64_t rows, std::int64_t row_length,
                        bool pairs) {
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  std::string text = fmt::format(
      "{} {}, {} tokens, {} of them ({:.1f}%) train; {}rows of {} tokens are {:.1f}% full",
      counts.samples, pairs ? "pairs" : "samples", counts.tokens, counts.trained,
      share(counts.trained, counts.tokens),
      rows == counts.samples * (pairs ? 2 : 1) ? "" : fmt::format("packed, {} ", rows), row_length,
      share(counts.tokens, rows * row_length));
  if (counts.without_answer > 0)
    text += fmt::format("; {} {} without a token that trains are left out", counts.without_answer,
                        pairs ? "pairs with an answer" : "samples");
  if (counts.cut > 0)
    text += fmt::format("; {} {} are longer and cut, with {} answers", counts.cut,
                        pairs ? "rows" : "samples", counts.cut_answers);
  return text;
}

void prepare_conversations(const Ranks& ranks, const TokenizerFiles& files,
                           const ConversationConfig& conversation, const std::string& directory,
                           int threads, DataConfig& data) {
  if (conversation.format == "tokens") return;
  std::string names;
  agreed(ranks, [&] {
    if (ranks.rank != 0) return;
    const ChatContext context = chat_context(files, conversation, data.sequence_length);
    prepare_files(context, directory, threads, data);
    names = nlohmann::json{{"train", data.train}, {"valid", data.valid}}.dump();
  });
  const auto all = nlohmann::json::parse(broadcast_text(ranks, names));
  data.train = all.at("train").get<std::vector<std::string>>();
  data.valid = all.at("valid").get<std::vector<std::string>>();
  if (conversation.validation_fraction > 0.0)
    for (DataSource& source : data.sources) source.files = 1;
}

}  // namespace triax
