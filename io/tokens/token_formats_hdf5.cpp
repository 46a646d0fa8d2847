// SPDX-License-Identifier: Apache-2.0
// Tokens of an HDF5 dataset, read by hyperslabs.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "io/files/shell_word.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/tokens/token_formats.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// First tokens of the documents, a dataset of any length: it is read in blocks, of which memory has
// one, and the first number of each that was looked at.
class DocumentOffsets {
 public:
  DocumentOffsets(const hdf5::File& file, std::string path, std::string dataset,
                  std::int64_t tokens)
      : file_(file),
        path_(std::move(path)),
        dataset_(std::move(dataset)),
        tokens_(tokens),
        count_(file.shape(dataset_).elements()),
        firsts_(static_cast<std::size_t>((count_ + block_size - 1) / block_size), unknown) {}

  // See TokenFile::read_starts().
  void mark(std::int64_t begin, std::span<std::uint8_t> starts) {
    const std::scoped_lock lock(mutex_);
    check_ends();
    std::ranges::fill(starts, std::uint8_t{0});
    const std::int64_t end = begin + std::ssize(starts);
    for (std::int64_t block = block_at(begin); block < std::ssize(firsts_); ++block) {
      load(block);
      for (auto at = std::ranges::lower_bound(block_, begin); at != block_.end(); ++at) {
        if (*at >= end) return;
        starts[static_cast<std::size_t>(*at - begin)] = 1;
      }
    }
  }

 private:
  static constexpr std::int64_t block_size = 4096, unknown = -1;

  [[noreturn]] void refuse() const {
    throw Error(path_ + " has documents that do not fit its tokens",
                fmt::format("its dataset {} must ascend from 0 to the number of tokens, {}",
                            dataset_, tokens_),
                "Store the first token of each document and behind the last one the number of "
                "tokens, or rename the dataset");
  }
  void check_ends() {
    if (checked_) return;
    file_.require_stored(dataset_, "documents");
    if (read(0, 1).front() != 0 || read(count_ - 1, 1).front() != tokens_) refuse();
    checked_ = true;
  }
  std::vector<std::int64_t> read(std::int64_t first, std::int64_t count) const {
    std::vector<std::int64_t> out(static_cast<std::size_t>(count));
    file_.read(dataset_, hdf5::flat_range_boxes({count_}, first, first + count),
               Tensor(out.data(), {count}));
    return out;
  }
  std::int64_t first_of(std::int64_t block) {
    std::int64_t& first = firsts_[static_cast<std::size_t>(block)];
    if (first == unknown) first = read(block * block_size, 1).front();
    return first;
  }
  // The last block whose first document does not begin behind `token`.
  std::int64_t block_at(std::int64_t token) {
    std::int64_t low = 0, high = std::ssize(firsts_);
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (first_of(middle) <= token ? low : high) = middle;
    }
    return low;
  }
  void load(std::int64_t block) {
    if (block == loaded_) return;
    const std::int64_t first = block * block_size;
    block_ = read(first, std::min(block_size, count_ - first));
    loaded_ = block;
    if (!std::ranges::is_sorted(block_) || block_.front() < 0 || block_.back() > tokens_) refuse();
  }

  std::mutex mutex_;  // guards all below but the names
  const hdf5::File& file_;
  std::string path_, dataset_;
  std::int64_t tokens_, count_;
  std::vector<std::int64_t> firsts_;  // of each block
  std::vector<std::int64_t> block_;
  std::int64_t loaded_ = unknown;  // number of block_
  bool checked_ = false;
};

// Datasets beside the tokens; empty: there is none.
struct Beside {
  std::string labels, documents;
};

class Hdf5Tokens : public TokenFile {
 public:
  Hdf5Tokens(const std::string& path, hdf5::File file, std::string dataset, const Beside& beside)
      : file_(std::move(file)),
        dataset_(std::move(dataset)),
        labels_(beside.labels),
        shape_(file_.shape(dataset_)) {
    if (!beside.documents.empty())
      documents_ =
          std::make_unique<DocumentOffsets>(file_, path, beside.documents, shape_.elements());
  }
  std::int64_t size() const override { return shape_.elements(); }
  void check_length() const override { file_.check_lengths(); }
  std::string_view format() const override { return "hdf5"; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    read_from(dataset_, begin, out);
  }
  bool has_labels() const override { return !labels_.empty(); }
  void read_labels(std::int64_t begin, std::span<std::int32_t> out) const override {
    read_from(has_labels() ? labels_ : dataset_, begin, out);
  }
  bool has_documents() const override { return documents_ != nullptr; }
  void read_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override {
    documents_->mark(begin, starts);
  }

 private:
  void read_from(const std::string& dataset, std::int64_t begin,
                 std::span<std::int32_t> out) const {
    check_token_range(*this, begin, out);
    const auto boxes = hdf5::flat_range_boxes(shape_, begin, begin + std::ssize(out));
    file_.read(dataset, boxes, Tensor(out.data(), {std::ssize(out)}));
  }

  hdf5::File file_;
  std::string dataset_, labels_;
  Shape shape_;                                 // one dimension
  std::unique_ptr<DocumentOffsets> documents_;  // null: the file has none
};

constexpr const char* named = "/tokens";
constexpr const char* named_labels = "/labels";
constexpr const char* named_documents = "/documents";

bool is_flat(const hdf5::File& file, const std::string& dataset) {
  return file.rank(dataset) == 1;
}

[[noreturn]] void not_flat(const hdf5::File& file, const std::string& path,
                           const std::string& dataset) {
  const std::string what = path + " is not an HDF5 token file";
  if (file.rank(dataset) == 0)
    throw Error(
        what,
        fmt::format("its dataset {} is not flat: it has no dimension, as a single number", dataset),
        "Store the tokens one after another, in a dataset of one dimension");
  throw Error(
      what,
      fmt::format(
          "its dataset {} has {} dimensions: its rows may be documents padded to one length",
          dataset, file.rank(dataset)),
      fmt::format("Store the tokens one after another. To train on all of them, row by row: "
                  "python3 -c \"import h5py, sys; h5py.File('flat.h5', 'w')['tokens'] = "
                  "h5py.File(sys.argv[1])[sys.argv[2]][:].ravel()\" {} {}",
                  shell_word(path), shell_word(dataset)));
}

// Checks the dataset "/tokens", which may be a link to one, and returns its name.
std::string named_tokens(const hdf5::File& file, const std::string& path) {
  if (!file.is_integer(named))
    throw Error(path + " is not an HDF5 token file",
                fmt::format("its dataset {} does not hold integers", named),
                "Store the token ids as integers");
  if (!is_flat(file, named)) not_flat(file, path, named);
  return named;
}

// Checks the dataset "/labels" beside `tokens` and returns its name; empty if there is none.
std::string labels_beside(const hdf5::File& file, const std::string& path,
                          const std::string& tokens) {
  if (!file.has_link(named_labels) || file.is_group(named_labels)) return {};
  const auto refuse = [&](const std::string& why) {
    throw Error(path + " has labels that do not belong to its tokens", why,
                "Store one integer per token: its id, or -100 if it does not count; or rename the "
                "dataset to train on all tokens");
  };
  if (!file.is_integer(named_labels))
    refuse(fmt::format("its dataset {} does not hold integers", named_labels));
  if (file.shape(named_labels) != file.shape(tokens))
    refuse(fmt::format("its dataset {} has shape {}, {} has {}", named_labels,
                       file.shape(named_labels).text(), tokens, file.shape(tokens).text()));
  file.require_stored(named_labels, "labels");
  return named_labels;
}

// The dataset "/documents" beside the tokens; empty if there is none that has offsets.
std::string documents_beside(const hdf5::File& file) {
  if (!file.has_link(named_documents) || file.is_group(named_documents) ||
      !file.is_integer(named_documents) || !is_flat(file, named_documents) ||
      file.shape(named_documents).elements() == 0)
    return {};
  return named_documents;
}

std::string only_tokens(const hdf5::File& file, const std::string& path) {
  std::vector<std::string> found = file.datasets("/");
  std::vector<std::string> integers;
  for (const std::string& name : found)
    if (file.exists(name) && file.is_integer(name)) integers.push_back(name);
  std::vector<std::string> flat;
  for (const std::string& name : integers)
    if (is_flat(file, name)) flat.push_back(name);
  // Padded corpora have rows of tokens beside their lengths: no guess.
  const bool rows =
      std::ranges::any_of(integers, [&](const std::string& name) { return file.rank(name) > 1; });
  if (flat.size() == 1 && rows)
    throw Error(
        path + " has several datasets of integers",
        fmt::format("none is named \"tokens\": {}", fmt::join(integers, ", ")),
        fmt::format(
            "Give the dataset of token ids the name, as a link say: python3 -c \"import h5py, sys; "
            "h5py.File(sys.argv[1], 'a')['tokens'] = h5py.SoftLink(sys.argv[2])\" {} {}",
            shell_word(path), shell_word(flat.front())));
  if (flat.size() == 1) return flat.front();
  if (flat.empty() && integers.size() == 1) not_flat(file, path, integers.front());
  if (integers.empty() && found.size() == 1)
    (void)file.rank(found.front());  // throws for a link that leads nowhere
  throw Error(
      path + " is not an HDF5 token file",
      fmt::format("{} one-dimensional integer datasets, none of them \"tokens\"", flat.size()),
      "Name the dataset of token ids \"tokens\"");
}

}  // namespace

std::unique_ptr<TokenFile> open_hdf5_tokens(const std::string& path) {
  hdf5::File file(path, hdf5::File::Mode::read);
  const bool has_named = file.has_link(named) && !file.is_group(named);
  const std::string dataset = has_named ? named_tokens(file, path) : only_tokens(file, path);
  file.require_stored(dataset, "tokens");
  if (file.shape(dataset).elements() == 0)
    throw Error(path + " holds no tokens", "its dataset " + dataset + " is empty",
                "Give a file with tokens in it");
  Beside beside;
  if (has_named) beside = {labels_beside(file, path, dataset), documents_beside(file)};
  return std::make_unique<Hdf5Tokens>(path, std::move(file), dataset, beside);
}

}  // namespace triax
