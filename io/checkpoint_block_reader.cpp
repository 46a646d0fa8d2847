#include "io/checkpoint_block_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t page = BlockFile::alignment;
constexpr std::int64_t worth_opening = std::int64_t{256} << 10;

// Of the last page that a range lies in.
std::int64_t pages_end(const FileRange& range) {
  return (range.offset + range.bytes + page - 1) / page * page;
}

BlockFile::Options reading_options() {
  BlockFile::Options options;
  options.block_bytes = std::int64_t{4} << 20;  // each operation costs a virtual machine's disk much
  options.writable = false;
  options.thread = false;
  return options;
}

[[noreturn]] void fail(const std::string& path, std::int64_t offset, const char* why) {
  throw Error(fmt::format("cannot read {} at byte {}", path, offset), why,
              "Check the disk's health, or use another checkpoint");
}

// What is behind the last whole page of a file, which cannot be read past the page cache.
void read_cached(const std::string& path, std::int64_t offset, std::byte* to, std::int64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path, offset, std::strerror(errno));
  ssize_t got = 1;
  while (bytes > 0 && got != 0) {
    got = ::pread(fd, to, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    to += got;
    offset += got;
    bytes -= got;
  }
  const int error = errno;
  ::close(fd);
  if (bytes > 0) fail(path, offset, got == 0 ? "the file ends there" : std::strerror(error));
}

}  // namespace

struct CheckpointBlockReader::OneFile {
  explicit OneFile(const std::string& name)
      : path(name),
        bytes(static_cast<std::int64_t>(std::filesystem::file_size(name))),
        direct(name, reading_options()) {}
  std::string path;
  std::int64_t bytes;
  BlockFile direct;
};

// A checkpoint may have more files than a process may have open.
std::shared_ptr<CheckpointBlockReader::OneFile> CheckpointBlockReader::file_of(std::size_t number) {
  auto& file = files_[number];
  std::erase(recent_, number);
  if (!file) {
    if (recent_.size() >= most_open) {
      files_[recent_.front()].reset();
      recent_.erase(recent_.begin());
    }
    file = std::make_shared<OneFile>(blocks_.files()[number]);
  }
  recent_.push_back(number);
  return file;
}

void CheckpointBlockReader::start_range(const FileRange& range, std::byte* memory,
                                        BlockReading& reading) {
  const std::int64_t end = range.offset + range.bytes;
  // A block of many parts has a little of each: not all of them are held open.
  if (range.bytes < worth_opening && !files_[range.file] && recent_.size() >= most_open)
    return read_cached(blocks_.files()[range.file], range.offset, memory + range.offset % page,
                       range.bytes);
  const std::shared_ptr<OneFile> file = file_of(range.file);
  const std::int64_t first = range.offset / page * page;
  const std::int64_t last = std::min(pages_end(range), file->bytes / page * page);
  if (first < last) {
    reading.files.push_back(file);
    reading.requests.push_back(
        file->direct.read(first, {memory, static_cast<std::size_t>(last - first)}));
  }
  const std::int64_t rest = std::max(last, range.offset);
  if (rest < end) read_cached(file->path, rest, memory + (rest - first), end - rest);
}

BlockReading CheckpointBlockReader::start(std::int64_t block, std::byte* memory) {
  BlockReading reading{block, memory, blocks_.ranges(block), {}, {}, false, {}};
  try {
    for (const FileRange& range : reading.ranges) {
      start_range(range, memory, reading);
      memory += pages_end(range) - range.offset / page * page;
    }
  } catch (const std::exception& error) {
    reading.failure = error.what();
  }
  return reading;
}

// Some file systems open a file for reads past the page cache and then refuse them.
void CheckpointBlockReader::read_again(const BlockReading& reading) const {
  std::byte* memory = reading.memory;
  for (const FileRange& range : reading.ranges) {
    read_cached(blocks_.files()[range.file], range.offset, memory + range.offset % page,
                range.bytes);
    memory += pages_end(range) - range.offset / page * page;
  }
}

void CheckpointBlockReader::wait(BlockReading& reading) {
  for (BlockRequest& request : reading.requests) try {
      request.wait();
    } catch (const Error&) {
      reading.refused = true;
    }
  reading.requests.clear();
  reading.files.clear();
}

Tensor CheckpointBlockReader::finish(BlockReading& reading) const {
  wait(reading);
  if (reading.refused) read_again(reading);
  if (!reading.failure.empty()) throw Error(reading.failure);
  const TensorPiece piece = blocks_.at(reading.block);
  const CheckpointTensor& tensor = blocks_.tensors()[piece.tensor];
  std::byte* const to = reading.memory + blocks_.data_offset(reading.block);
  const Tensor data(static_cast<void*>(to), tensor.dtype, {piece.end - piece.begin});
  if (reading.ranges.empty()) {
    reader_.read(tensor.name, hdf5::flat_range_boxes(tensor.shape, piece.begin, piece.end), data);
    return data;
  }
  // Side by side, where they are not.
  std::byte* pages = reading.memory;
  std::byte* at = to;
  for (const auto& [file, offset, bytes] : reading.ranges) {
    const std::byte* const from = pages + offset % page;
    if (from != at) std::memmove(at, from, static_cast<std::size_t>(bytes));
    at += bytes;
    pages += pages_end({file, offset, bytes}) - offset / page * page;
  }
  return data;
}

}  // namespace triax
