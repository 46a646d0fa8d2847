#include "io/checkpoint_data.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr const char* remedy = "Check the disk's health, free space and quota";

int open_to_write(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw Error("cannot write " + path, std::strerror(errno),
                "Check that checkpoint.directory is the same on every node");
  return descriptor;
}

}  // namespace

CheckpointData::CheckpointData(std::vector<std::string> paths) {
  for (std::string& path : paths) files_.push_back({std::move(path)});
}

CheckpointData::~CheckpointData() {
  for (const File& file : files_)
    if (file.descriptor >= 0) ::close(file.descriptor);
}

void CheckpointData::place(const std::string& name, DType dtype, const Shape& shape,
                           std::vector<DataExtent> extents) {
  std::int64_t end = 0;
  for (const DataExtent& extent : extents) {
    check(extent.first == end && extent.file < files_.size(), "{} has no place for element {}",
          name, end);
    end = extent.end;
  }
  check(end == shape.elements(), "{} has places for {} of its {} elements", name, end,
        shape.elements());
  places_.insert_or_assign(name, Place{name, dtype, shape, std::move(extents)});
}

void CheckpointData::write(const std::string& name, const std::vector<hdf5::Box>& boxes,
                           const Tensor& data) {
  const auto found = places_.find(name);
  check(found != places_.end(), "the checkpoint was made without {}", name);
  const Place& place = found->second;
  check(data.contiguous() && data.space() == MemorySpace::host && data.dtype() == place.dtype,
        "{} is written from contiguous memory as {}", name, name_of(place.dtype));
  check(hdf5::elements(boxes) == data.elements(), "{} elements of {} in boxes of {}",
        data.elements(), name, hdf5::elements(boxes));
  const auto* at = static_cast<const char*>(data.data());
  for (const hdf5::Run& run : hdf5::runs_of(place.shape, boxes)) {
    write_run(place, run.first, run.first + run.count, at);
    at += run.count * static_cast<std::int64_t>(size_of(place.dtype));
  }
}

void CheckpointData::write_run(const Place& place, std::int64_t first, std::int64_t end,
                               const char* data) {
  const auto width = static_cast<std::int64_t>(size_of(place.dtype));
  auto extent = std::ranges::upper_bound(place.extents, first, {}, &DataExtent::end);
  for (; first < end; ++extent) {
    const std::int64_t bytes = (std::min(end, extent->end) - first) * width;
    write_bytes(place.name, files_[extent->file], extent->offset + (first - extent->first) * width,
                data, bytes);
    data += bytes;
    first = extent->end;
  }
}

void CheckpointData::write_bytes(const std::string& name, File& file, std::int64_t offset,
                                 const char* data, std::int64_t bytes) {
  if (file.descriptor < 0) file.descriptor = open_to_write(file.path);
  while (bytes > 0) {
    constexpr std::int64_t most = std::int64_t{8} << 20;
    const ssize_t written =
        ::pwrite(file.descriptor, data, static_cast<std::size_t>(std::min(bytes, most)), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw Error(fmt::format("cannot write {} at byte {} of {}", name, offset, file.path),
                  std::strerror(written < 0 ? errno : ENOSPC), remedy);
    data += written;
    bytes -= written;
    offset += written;
    file.unsent += written;
    if (file.unsent < most) continue;
    // The disk begins now rather than when all is in the page cache. Only a hint: sync() is what
    // tells of failures.
    (void)::sync_file_range(file.descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
    file.unsent = 0;
  }
}

void CheckpointData::sync() {
  for (const File& file : files_)
    if (file.descriptor >= 0 && ::fdatasync(file.descriptor) != 0)
      throw Error("cannot sync " + file.path + " to disk", std::strerror(errno), remedy);
}

}  // namespace triax
