// SPDX-License-Identifier: Apache-2.0
// Tokens of an HDF5 dataset, read by hyperslabs.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/tokens/token_formats.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class Hdf5Tokens : public TokenFile {
 public:
  Hdf5Tokens(hdf5::File file, std::string dataset)
      : file_(std::move(file)), dataset_(std::move(dataset)), shape_(file_.shape(dataset_)) {}
  std::int64_t size() const override { return shape_.elements(); }
  void check_length() const override { file_.check_lengths(); }
  std::string_view format() const override { return "hdf5"; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    check_token_range(*this, begin, out);
    const auto boxes = hdf5::flat_range_boxes(shape_, begin, begin + std::ssize(out));
    file_.read(dataset_, boxes, Tensor(out.data(), {std::ssize(out)}));
  }

 private:
  hdf5::File file_;
  std::string dataset_;
  Shape shape_;  // at most one dimension
};

constexpr const char* named = "/tokens";

bool is_flat(const hdf5::File& file, const std::string& dataset) {
  return file.rank(dataset) == 1;
}

[[noreturn]] void not_flat(const hdf5::File& file, const std::string& path,
                           const std::string& dataset) {
  throw Error(
      path + " is not an HDF5 token file",
      fmt::format(
          "its dataset {} has {} dimensions: its rows may be documents padded to one length",
          dataset, file.rank(dataset)),
      fmt::format("Store the tokens one after another. To train on all of them, row by row: "
                  "python3 -c \"import h5py; h5py.File('flat.h5', 'w')['tokens'] = "
                  "h5py.File('{}')['{}'][:].ravel()\"",
                  path, dataset));
}

// Checks the dataset "/tokens", which may be a link to one, and returns its name.
std::string named_tokens(const hdf5::File& file, const std::string& path) {
  if (!file.is_integer(named))
    throw Error(path + " is not an HDF5 token file",
                fmt::format("its dataset {} does not hold integers", named),
                "Store the token ids as integers");
  if (file.rank(named) > 1) not_flat(file, path, named);
  return named;
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
            "Give the dataset of token ids the name, as a link say: python3 -c \"import h5py; "
            "h5py.File('{}', 'a')['tokens'] = h5py.SoftLink('{}')\"",
            path, flat.front()));
  if (flat.size() == 1) return flat.front();
  if (flat.empty() && integers.size() == 1 && file.rank(integers.front()) > 1)
    not_flat(file, path, integers.front());
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
  return std::make_unique<Hdf5Tokens>(std::move(file), dataset);
}

}  // namespace triax
