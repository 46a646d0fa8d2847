// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/prepare.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <span>

#include "io/files/mapped_file.hpp"
#include "io/files/sha256.hpp"
#include "src/data/chat/sample_file.hpp"
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

 private:
  // Path of the file that takes the place of `path`.
  std::string prepare(const std::string& path, bool last) {
    const MappedFile file(path);
    if (is_hdf5(file)) return path;
    const std::string stem = fs::path(path).filename().string();
    const std::string prepared =
        (fs::path(directory_) / fmt::format("{}-{}.h5", stem, hash_of(file, hash_, last))).string();
    if (fs::exists(prepared)) {
      spdlog::info("data: {} is prepared in {}", path, prepared);
      return prepared;
    }
    fs::create_directories(directory_);
    const SampleFile samples(context_, path, prepared + ".samples", threads_);
    const SampleRows rows = data_.packing ? packed_rows_of(samples.lengths(), context_.most_tokens)
                                          : single_rows(samples.size());
    spdlog::info(
        "data: {}: {}", path,
        counts_text(samples.counts(), rows.size(), context_.most_tokens, context_.pairs()));
    warn(path, samples.counts());
    if (samples.size() == 0) refuse(path, samples.counts());
    write_rows(samples, rows,
               {.length = context_.most_tokens,
                .fill = fill_,
                .documents = data_.mask_documents,
                .rows_per_sample = data_.rows_per_sample,
                .last = last},
               prepared);
    return prepared;
  }

  [[noreturn]] void refuse(const std::string& path, const ChatCounts& counts) const {
    const std::string none = fmt::format("{} has no sample that trains", path);
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

// Number of files of each source: these are read as one.
std::vector<std::size_t> files_of_sources(const DataConfig& data) {
  std::vector<std::size_t> files;
  for (const DataSource& source : data.sources) files.push_back(source.files);
  if (files.empty()) files.push_back(data.train.size());
  return files;
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
    Preparation preparation(context, data, directory, threads);
    std::size_t first = 0;
    for (const std::size_t files : files_of_sources(data)) {
      preparation.prepare_all(std::span(data.train).subspan(first, files));
      first += files;
    }
    preparation.prepare_all(data.valid);
    names = nlohmann::json{{"train", data.train}, {"valid", data.valid}}.dump();
  });
  const auto all = nlohmann::json::parse(broadcast_text(ranks, names));
  data.train = all.at("train").get<std::vector<std::string>>();
  data.valid = all.at("valid").get<std::vector<std::string>>();
}

}  // namespace triax
