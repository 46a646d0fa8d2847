// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/document_walk.hpp"

#include <algorithm>
#include <filesystem>

#include "io/files/mapped_file.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr const char* starts_name = "/documents";

[[noreturn]] void fail(const std::string& path, std::int64_t document) {
  throw Error(path + " is damaged",
              fmt::format("its document {} does not fit its tokens", document),
              "Make the file again");
}

class Hdf5Walk : public DocumentWalk {
 public:
  Hdf5Walk(const std::string& path, std::int64_t tokens)
      : path_(path), file_(path, hdf5::File::Mode::read), shape_(file_.shape(starts_name)) {
    if (shape_.elements() < 1 || start(0) != 0 || start(shape_.elements() - 1) != tokens)
      fail(path, 0);
  }
  std::optional<std::int64_t> next() override {
    if (next_ + 1 >= shape_.elements()) return {};
    const std::int64_t begin = start(next_++);
    const std::int64_t length = start(next_) - begin;
    if (length < 0) fail(path_, next_ - 1);
    return length;
  }

 private:
  std::int64_t start(std::int64_t document) {
    constexpr std::int64_t block = 8192;
    if (document < first_ || document >= first_ + std::ssize(starts_)) {
      first_ = document / block * block;
      starts_.resize(static_cast<std::size_t>(std::min(block, shape_.elements() - first_)));
      file_.read(starts_name, hdf5::flat_range_boxes(shape_, first_, first_ + std::ssize(starts_)),
                 Tensor(starts_.data(), {std::ssize(starts_)}));
    }
    return starts_[static_cast<std::size_t>(document - first_)];
  }

  std::string path_;
  hdf5::File file_;
  Shape shape_;
  std::int64_t first_ = 0;            // document of starts_[0]
  std::vector<std::int64_t> starts_;  // a block of them
  std::int64_t next_ = 0;
};

// The layout of the index: token_formats_megatron.cpp, which has checked it.
class MegatronWalk : public DocumentWalk {
 public:
  explicit MegatronWalk(const std::string& index)
      : index_(index),
        sequences_(load<std::int64_t>(index_.data() + 18)),
        boundaries_(load<std::int64_t>(index_.data() + 26)) {}
  std::optional<std::int64_t> next() override {
    if (next_ + 1 >= boundaries_) return {};
    const std::int64_t begin = boundary(next_++);
    const std::int64_t end = boundary(next_);
    if (begin < 0 || begin > end || end > sequences_) fail(index_.path(), next_ - 1);
    std::int64_t tokens = 0;
    for (std::int64_t s = begin; s < end; ++s)
      tokens += load<std::int32_t>(index_.data() + header + s * 4);
    return tokens;
  }

 private:
  static constexpr std::int64_t header = 34;
  std::int64_t boundary(std::int64_t document) const {
    return load<std::int64_t>(index_.data() + header + sequences_ * 12 + document * 8);
  }

  MappedFile index_;
  std::int64_t sequences_, boundaries_;
  std::int64_t next_ = 0;
};

class EndTokenWalk : public DocumentWalk {
 public:
  EndTokenWalk(const TokenFile& file, std::int64_t end_token)
      : file_(file), end_token_(end_token) {}
  std::optional<std::int64_t> next() override {
    std::int64_t length = 0;
    while (refill()) {
      const auto found = std::find(tokens_.begin() + at_, tokens_.end(), end_token_);
      const bool ends = found != tokens_.end();
      const std::ptrdiff_t to = found - tokens_.begin() + (ends ? 1 : 0);
      length += to - at_;
      at_ = to;
      if (ends) return length;
    }
    if (length == 0) return {};
    return length;  // the rest has no end token
  }

 private:
  // False at the end of the file.
  bool refill() {
    constexpr std::int64_t block = std::int64_t{1} << 16;
    if (at_ < std::ssize(tokens_)) return true;
    tokens_.resize(static_cast<std::size_t>(std::min(block, file_.size() - read_)));
    file_.read(read_, tokens_);
    read_ += std::ssize(tokens_);
    at_ = 0;
    return !tokens_.empty();
  }

  const TokenFile& file_;
  std::int64_t end_token_;
  std::vector<std::int32_t> tokens_;
  std::int64_t read_ = 0;  // tokens of the file
  std::ptrdiff_t at_ = 0;
};

}  // namespace

std::unique_ptr<DocumentWalk> walk_documents(const std::string& path, const TokenFile& file,
                                             std::int64_t end_token) {
  if (file.format() == "hdf5") {
    if (hdf5::File(path, hdf5::File::Mode::read).exists(starts_name))
      return std::make_unique<Hdf5Walk>(path, file.size());
  } else if (file.format() == "megatron") {
    std::filesystem::path index(path);
    const bool ends = index.extension() == ".bin" || index.extension() == ".idx";
    return std::make_unique<MegatronWalk>(ends ? index.replace_extension(".idx").string()
                                               : path + ".idx");
  }
  if (end_token < 0) return nullptr;
  return std::make_unique<EndTokenWalk>(file, end_token);
}

}  // namespace triax
