// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors/safetensors_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/safetensors/safetensors.hpp"
#include "io/safetensors/safetensors_header.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* remedy = "Check free space, quota and permissions of its directory";

// The header's length and JSON, padded by spaces so that the data begin at a multiple of 8 bytes.
std::string header_of(const std::vector<SafetensorsTensor>& tensors) {
  Json header;
  header["__metadata__"] = {{"format", "pt"}};  // transformers refuses files without it
  std::int64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    Json shape = Json::array();
    for (int d = 0; d < tensor.shape.rank(); ++d) shape.push_back(tensor.shape[d]);
    header[tensor.name] = {
        {"dtype", tensor.type.empty() ? safetensors_type(tensor.dtype) : tensor.type},
        {"shape", shape},
        {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump();
  constexpr std::size_t alignment = 8;
  text.append((alignment - text.size() % alignment) % alignment, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path,
                                     std::vector<SafetensorsTensor> tensors)
    : path_(path), temporary_(path + ".tmp") {
  std::ranges::sort(tensors, [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    return std::pair(size_of(b.dtype), a.name) < std::pair(size_of(a.dtype), b.name);
  });
  const std::string header = header_of(tensors);
  auto offset = static_cast<std::int64_t>(header.size());
  for (const SafetensorsTensor& tensor : tensors) {
    const bool added =
        places_.emplace(tensor.name, Place{tensor.dtype, tensor.shape.elements(), offset}).second;
    check(added, "tensor {} twice in {}", tensor.name, path);
    missing_ += tensor.shape.elements();
    offset += tensor.bytes();
  }
  fd_ = ::open(temporary_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw Error("cannot write " + path_, std::strerror(errno), remedy);
  try {
    reserve_space(temporary_, offset);
    put(header.data(), static_cast<std::int64_t>(header.size()), 0);
  } catch (...) {
    close();
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  close();
}

void SafetensorsWriter::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!published_) ::unlink(temporary_.c_str());
}

void SafetensorsWriter::put(const void* data, std::int64_t bytes, std::int64_t offset) {
  const auto* from = static_cast<const std::byte*>(data);
  const int error = write_all(fd_, {from, static_cast<std::size_t>(bytes)}, offset);
  if (error != 0) throw Error("cannot write " + path_, std::strerror(error), remedy);
}

void SafetensorsWriter::write(const std::string& name, std::int64_t begin, const Tensor& data) {
  const auto found = places_.find(name);
  check(found != places_.end(), "tensor {} is not one of {}", name, path_);
  const Place& place = found->second;
  const std::int64_t count = data.elements();
  check(fd_ >= 0 && data.contiguous() && data.dtype() == place.dtype &&
            data.space() == MemorySpace::host,
        "tensor {} written to {} from what is not contiguous {} in host memory", name, path_,
        name_of(place.dtype));
  check(begin >= 0 && begin + count <= place.elements, "elements [{}, {}) of {} with {}", begin,
        begin + count, name, place.elements);
  const auto width = static_cast<std::int64_t>(size_of(place.dtype));
  put(data.data(), count * width, place.offset + begin * width);
  missing_ -= count;
}

void SafetensorsWriter::finish() {
  check(missing_ == 0, "{} elements of {} were not written", missing_, path_);
  if (::fsync(fd_) != 0 && errno != EINVAL)
    throw Error("cannot sync " + path_ + " to disk", std::strerror(errno), remedy);
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0)
    throw Error("cannot write " + path_, std::strerror(errno),
                remedy);  // NFS reports write errors here
}

void SafetensorsWriter::publish(Existing existing) {
  if (fd_ >= 0) finish();
  rename_durably(temporary_, path_, existing);
  published_ = true;
}

std::vector<SafetensorsShard> cut_into_shards(const std::vector<SafetensorsTensor>& tensors,
                                              std::int64_t shard_bytes) {
  std::vector<SafetensorsShard> shards(1);
  std::int64_t room = shard_bytes;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.bytes() > room && !shards.back().tensors.empty()) {
      shards.emplace_back();
      room = shard_bytes;
    }
    shards.back().tensors.push_back(tensor);
    room -= tensor.bytes();
  }
  for (std::size_t i = 0; i < shards.size(); ++i)
    shards[i].file = shards.size() == 1
                         ? safetensors_single_name
                         : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
  return shards;
}

std::string safetensors_index(const std::vector<SafetensorsShard>& shards) {
  std::int64_t bytes = 0;
  std::map<std::string, std::string> files;  // by tensor name, sorted as transformers sorts them
  for (const SafetensorsShard& shard : shards)
    for (const SafetensorsTensor& tensor : shard.tensors) {
      bytes += tensor.bytes();
      files.emplace(tensor.name, shard.file);
    }
  const Json index = {{"metadata", {{"total_size", bytes}}}, {"weight_map", files}};
  return index.dump(2) + "\n";
}

}  // namespace triax
