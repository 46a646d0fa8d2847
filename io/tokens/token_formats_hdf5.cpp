// SPDX-License-Identifier: Apache-2.0
// Tokens of an HDF5 dataset, read by hyperslabs.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/files/shell_word.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/tokens/token_formats.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class Hdf5Tokens : public TokenFile {
 public:
  // `labels`: dataset of the tokens' labels; empty: none.
  Hdf5Tokens(hdf5::File file, std::string dataset, std::string labels)
      : file_(std::move(file)),
        dataset_(std::move(dataset)),
        labels_(std::move(labels)),
        shape_(file_.shape(dataset_)) {}
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

 private:
  void read_from(const std::string& dataset, std::int64_t begin,
                 std::span<std::int32_t> out) const {
    check_token_range(*this, begin, out);
    const auto boxes = hdf5::flat_range_boxes(shape_, begin, begin + std::ssize(out));
    file_.read(dataset, boxes, Tensor(out.data(), {std::ssize(out)}));
  }

  hdf5::File file_;
  std::string dataset_, labels_;
  Shape shape_;  // one dimension
};

constexpr const char* named = "/tokens";
constexpr const char* named_labels = "/labels";

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
  const std::string labels = has_named ? labels_beside(file, path, dataset) : std::string();
  return std::make_unique<Hdf5Tokens>(std::move(file), dataset, labels);
}

}  // namespace triax
