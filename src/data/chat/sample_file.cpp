// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/sample_file.hpp"

#include <cstring>
#include <filesystem>

#include "io/files/mapped_file.hpp"

namespace triax {

struct SampleFile::Spool {
  explicit Spool(const std::string& path) : file(path) {}
  MappedFile file;
};

SampleFile::SampleFile(std::string spool) : file_{std::move(spool)}, out_(file_.path) {}

SampleFile::Removed::~Removed() {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

SampleFile::~SampleFile() = default;

void SampleFile::add(const ChatSample& row) {
  lengths_.push_back(static_cast<std::int32_t>(row.ids.size()));
  begins_.push_back(end_);
  out_.append_values(std::span(row.ids));
  out_.append_values(std::span(row.labels));
  end_ += 2 * std::ssize(row.ids);
}

void SampleFile::close() {
  out_.close(OutputFile::Sync::does_not);
  if (end_ > 0) spool_ = std::make_unique<Spool>(file_.path);
}

void SampleFile::read(std::size_t row, std::span<std::int32_t> ids,
                      std::span<std::int32_t> labels) const {
  const auto length = static_cast<std::size_t>(lengths_[row]) * sizeof(std::int32_t);
  const std::byte* const at =
      spool_->file.data() + static_cast<std::size_t>(begins_[row]) * sizeof(std::int32_t);
  std::memcpy(ids.data(), at, length);
  std::memcpy(labels.data(), at + length, length);
}

}  // namespace triax
