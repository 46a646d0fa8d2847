// Tokens in an HDF5 file, read by hyperslabs.
#include <algorithm>

#include "io/hdf5.hpp"
#include "io/token_formats.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class Hdf5Tokens : public TokenFile {
 public:
  Hdf5Tokens(hdf5::File file, const std::string& path, std::string dataset)
      : file_(std::move(file)),
        length_(path),
        dataset_(std::move(dataset)),
        size_(file_.shape(dataset_)[0]) {}
  std::int64_t size() const override { return size_; }
  void check_length() const override { length_.check(); }
  std::string_view format() const override { return "hdf5"; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    check_token_range(*this, begin, out);
    const Shape extent{std::ssize(out)};
    file_.read(dataset_, {{{begin}, extent}}, Tensor(out.data(), extent));
  }

 private:
  hdf5::File file_;
  FileLength length_;
  std::string dataset_;
  std::int64_t size_;
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
  if (file.shape(found.front()).elements() == 0)
    throw Error(path + " holds no tokens", "its dataset " + found.front() + " is empty",
                "Give a file with tokens in it");
  return std::make_unique<Hdf5Tokens>(std::move(file), path, found.front());
}

}  // namespace triax
