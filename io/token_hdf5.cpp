// Tokens in an HDF5 file, read by hyperslabs.
#include <algorithm>
#include <utility>

#include "io/hdf5.hpp"
#include "io/token_formats.hpp"
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
  Shape shape_;  // of one dimension
};

bool holds_tokens(const hdf5::File& file, const std::string& dataset) {
  return file.is_integer(dataset) && file.rank(dataset) == 1;
}

}  // namespace

std::unique_ptr<TokenFile> open_hdf5_tokens(const std::string& path) {
  const std::string named = "/tokens";
  hdf5::File file(path, hdf5::File::Mode::read);
  std::vector<std::string> found = file.datasets("/");
  if (std::ranges::find(found, named) != found.end()) {
    if (!holds_tokens(file, named))
      throw Error(
          path + " is not an HDF5 token file",
          fmt::format("its dataset \"tokens\" is of {} and has {} dimension(s)",
                      file.is_integer(named) ? "integers" : "no integers", file.rank(named)),
          "Store the token ids one after another, as integers in one dimension");
    found = {named};
  }
  std::erase_if(found, [&](const std::string& name) { return !holds_tokens(file, name); });
  if (found.size() != 1)
    throw Error(
        path + " is not an HDF5 token file",
        fmt::format("{} one-dimensional integer datasets, none of them \"tokens\"", found.size()),
        "Name the dataset of token ids \"tokens\"");
  file.require_stored(found.front(), "tokens");
  if (file.shape(found.front()).elements() == 0)
    throw Error(path + " holds no tokens", "its dataset " + found.front() + " is empty",
                "Give a file with tokens in it");
  return std::make_unique<Hdf5Tokens>(std::move(file), found.front());
}

}  // namespace triax
