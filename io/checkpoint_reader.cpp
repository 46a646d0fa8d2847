// Opens a published checkpoint.
#include <filesystem>

#include "io/checkpoint_file.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Parts lie beside the file itself, as HDF5 sees it, not beside a link to it.
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

CheckpointReader::CheckpointReader(const std::string& path)
    : path_(path),
      real_path_(behind_links(path)),
      file_(open_sealed(path)),
      header_(read_header(file_, path)),
      has_checksums_(header_.format_version >= checksums_since || file_.exists("/integrity")) {
  if (has_checksums()) check_header(file_, path, header_);
  check_parts(real_path_, parse_parts(header_.parts));
}

std::int64_t CheckpointReader::file_bytes() const {
  auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  for (const std::int64_t part : parse_parts(header_.parts).bytes) bytes += part;
  return bytes;
}

std::vector<CheckpointTensor> CheckpointReader::tensors() const {
  std::vector<CheckpointTensor> out;
  for (const std::string& name : file_.datasets("/"))
    if (!name.starts_with("/integrity/"))
      out.push_back({name, file_.dtype(name), file_.shape(name)});
  return out;
}

std::vector<std::uint64_t> CheckpointReader::checksums(const std::string& name) const {
  return checksums({name, DType::f32, shape(name)}, checksum_block());
}

std::vector<std::uint64_t> CheckpointReader::checksums(const CheckpointTensor& tensor,
                                                       std::int64_t block) const {
  const std::string& name = tensor.name;
  std::vector<std::uint64_t> sums = read_integrity(file_, name);
  const auto blocks = static_cast<std::size_t>(integrity_blocks(tensor.shape.elements(), block));
  if (sums.size() != blocks)
    throw Error(fmt::format("{} is damaged", path_),
                fmt::format("{} has {} checksums for {} blocks", name, sums.size(), blocks),
                "Use another checkpoint");
  return sums;
}

bool CheckpointReader::contains(const std::string& name) const {
  return file_.exists(name);
}

Shape CheckpointReader::shape(const std::string& name) const {
  return file_.shape(name);
}

void CheckpointReader::read(const std::string& name, const std::vector<hdf5::Box>& boxes,
                            const Tensor& data) const {
  file_.read(name, boxes, data);
}

}  // namespace triax
