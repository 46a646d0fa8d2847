// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "io/checkpoint/checkpoint_parts.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Resolves symbolic links: parts lie beside the file itself, not beside a link to it.
std::string behind_links(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

hdf5::File open_sealed(const std::string& path) {
  if (std::error_code error; std::filesystem::is_other(path, error))
    throw Error("cannot open " + path, "it is a pipe or a device", "Check the path");
  check_seal(path);
  return {path, hdf5::File::Mode::read};
}

}  // namespace

CheckpointReader::CheckpointReader(const std::string& path) : path_(path) {
  open();
}

CheckpointReader::CheckpointReader(const std::string& path, const Ranks& ranks) : path_(path) {
  agreed(ranks, [&] {
    if (ranks.rank != 0) return;
    open();
    tensors();
  });
  if (ranks.size == 1) return;
  const std::string all = broadcast_text(ranks, ranks.rank == 0 ? packed() : std::string());
  if (ranks.rank != 0) unpack(all);
}

void CheckpointReader::open() {
  real_path_ = behind_links(path_);
  header_ = read_header(file(), path_);
  has_checksums_ = header_.format_version >= checksums_since || file().exists("/integrity");
  if (has_checksums()) check_header(file(), path_, header_);
  check_parts(real_path_, parse_parts(header_.parts));
}

std::string CheckpointReader::packed() const {
  nlohmann::json tensors = nlohmann::json::array();
  for (const CheckpointTensor& tensor : *tensors_) {
    std::vector<std::int64_t> shape;
    for (int d = 0; d < tensor.shape.rank(); ++d) shape.push_back(tensor.shape[d]);
    tensors.push_back({tensor.name, static_cast<int>(tensor.dtype), shape});
  }
  nlohmann::json all = {{"has_checksums", has_checksums_}, {"tensors", std::move(tensors)}};
  for_each_attribute(header_,
                     [&](const char* name, const auto& value) { all["header"][name] = value; });
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(all);
  return {bytes.begin(), bytes.end()};
}

void CheckpointReader::unpack(const std::string& text) {
  const nlohmann::json all = nlohmann::json::from_cbor(text);
  real_path_ = behind_links(path_);  // on this rank's node
  has_checksums_ = all["has_checksums"].get<bool>();
  for_each_attribute(header_, [&](const char* name, auto& value) {
    value = all["header"][name].get<std::remove_cvref_t<decltype(value)>>();
  });
  for (const nlohmann::json& one : all["tensors"]) {
    CheckpointTensor& tensor = (tensors_ ? *tensors_ : tensors_.emplace()).emplace_back();
    tensor.name = one[0].get<std::string>();
    tensor.dtype = static_cast<DType>(one[1].get<int>());
    for (const nlohmann::json& extent : one[2]) tensor.shape.push_back(extent.get<std::int64_t>());
  }
}

const hdf5::File& CheckpointReader::file() const {
  // Opened by its real path: beside a link HDF5 might find the parts of another file.
  if (!file_) file_.emplace(open_sealed(real_path_));
  return *file_;
}

std::int64_t CheckpointReader::file_bytes() const {
  auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  for (const std::int64_t part : parse_parts(header_.parts).bytes) bytes += part;
  return bytes;
}

const std::vector<CheckpointTensor>& CheckpointReader::tensors() const {
  if (tensors_) return *tensors_;
  // check_parts() has checked the part files already; require_stored() would open a part for each
  // tensor.
  const bool in_parts = !parse_parts(header_.parts).bytes.empty();
  std::vector<CheckpointTensor> found;
  for (const std::string& name : file().datasets("/")) {
    if (name.starts_with("/integrity/")) continue;
    found.push_back({name, file().dtype(name), file().shape(name)});
    if (!in_parts) file().require_stored(name, "elements");
  }
  return tensors_.emplace(std::move(found));
}

const CheckpointTensor* CheckpointReader::find(const std::string& name) const {
  const auto found = std::ranges::lower_bound(tensors(), name, {}, &CheckpointTensor::name);
  return found != tensors().end() && found->name == name ? &*found : nullptr;
}

const CheckpointTensor& CheckpointReader::tensor(const std::string& name) const {
  const CheckpointTensor* const found = find(name);
  if (found == nullptr)
    throw Error(fmt::format("{} has no tensor {}", path_, name), "it may be of another model",
                "`triax checkpoint inspect` lists its tensors");
  return *found;
}

std::vector<std::uint64_t> CheckpointReader::checksums(const CheckpointTensor& tensor,
                                                       std::int64_t block) const {
  const std::string& name = tensor.name;
  std::vector<std::uint64_t> sums = read_integrity(file(), name);
  const auto blocks = static_cast<std::size_t>(integrity_blocks(tensor.shape.elements(), block));
  if (sums.size() != blocks)
    throw Error(fmt::format("{} is damaged", path_),
                fmt::format("{} has {} checksums for {} blocks", name, sums.size(), blocks),
                "Use another checkpoint");
  return sums;
}

void CheckpointReader::read(const std::string& name, const std::vector<hdf5::Box>& boxes,
                            const Tensor& data) const {
  file().read(name, boxes, data);
}

}  // namespace triax
