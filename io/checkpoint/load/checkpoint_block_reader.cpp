// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/checkpoint_block_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t page = BlockFile::alignment;
constexpr std::int64_t worth_opening = std::int64_t{256} << 10;

std::int64_t end_of(const FileRange& range) {
  return range.offset + range.bytes;
}

// Begin and end of the pages that contain a range.
std::int64_t pages_begin(const FileRange& range) {
  return range.offset / page * page;
}
std::int64_t pages_end(const FileRange& range) {
  return (end_of(range) + page - 1) / page * page;
}

BlockFile::Options reading_options() {
  BlockFile::Options options;
  options.block_bytes = std::int64_t{16} << 20;  // large: each operation costs a disk time
  options.writable = false;
  options.thread = false;
  return options;
}

[[noreturn]] void fail(const std::string& path, std::int64_t offset, const char* why) {
  throw Error(fmt::format("cannot read {} at byte {}", path, offset), why,
              "Check the disk's health, or use another checkpoint");
}

std::int64_t bytes_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) fail(path, 0, error.message().c_str());
  return static_cast<std::int64_t>(bytes);
}

// Reads through the page cache: the part behind the last whole page of a file cannot be read past
// it.
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
      : path(name), bytes(bytes_of(name)), direct(name, reading_options()) {}
  std::string path;
  std::int64_t bytes;
  BlockFile direct;
};

// Opens a file and closes the least recently used one: a checkpoint may have more part files than a
// process may open.
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

void CheckpointBlockReader::start_range(const FileRange& range, std::byte* memory, BlockRun& run) {
  const std::int64_t end = end_of(range);
  // A chunk spread over many part files has a little in each: they are not all kept open.
  if (range.bytes < worth_opening && !files_[range.file] && recent_.size() >= most_open)
    return read_cached(blocks_.files()[range.file], range.offset, memory + range.offset % page,
                       range.bytes);
  const std::shared_ptr<OneFile> file = file_of(range.file);
  const std::int64_t first = pages_begin(range);
  const std::int64_t last = std::min(pages_end(range), file->bytes / page * page);
  if (first < last) {
    run.files.push_back(file);
    run.requests.push_back(
        file->direct.read(first, {memory, static_cast<std::size_t>(last - first)}));
  }
  const std::int64_t rest = std::max(last, range.offset);
  if (rest < end) read_cached(file->path, rest, memory + (rest - first), end - rest);
}

// `adjoining`: chunks of one range each, in the order of the file, or one chunk of several ranges.
void CheckpointBlockReader::start_run(std::span<BlockReading* const> adjoining, std::byte* memory) {
  const auto run = std::make_shared<BlockRun>();
  std::vector<FileRange> ranges = adjoining.front()->ranges;
  const std::int64_t first = ranges.empty() ? 0 : pages_begin(ranges.front());
  for (BlockReading* const reading : adjoining) {
    reading->run = run;
    reading->memory = memory;
    if (ranges.size() != 1) continue;
    reading->memory += pages_begin(reading->ranges.front()) - first;
    ranges.front().bytes = end_of(reading->ranges.front()) - ranges.front().offset;
  }
  run->ranges = ranges;
  run->memory = memory;
  try {
    for (const FileRange& range : ranges) {
      start_range(range, memory, *run);
      memory += pages_end(range) - pages_begin(range);
    }
  } catch (const std::exception& error) {
    run->failure = error.what();
  }
}

std::vector<BlockReading> CheckpointBlockReader::start(std::span<const std::int64_t> blocks,
                                                       std::byte* memory) {
  std::vector<BlockReading> readings;
  for (const std::int64_t block : blocks)
    readings.push_back({block, nullptr, blocks_.ranges(block), nullptr});
  std::vector<BlockReading*> order;
  for (BlockReading& reading : readings) order.push_back(&reading);
  std::ranges::stable_sort(order, {}, [](const BlockReading* reading) {
    return reading->ranges.size() == 1
               ? std::pair(reading->ranges.front().file, reading->ranges.front().offset)
               : std::pair(std::size_t{0}, std::int64_t{-1});
  });
  const auto adjoin = [&](const BlockReading* left, const BlockReading* right) {
    if (left->ranges.size() != 1 || right->ranges.size() != 1) return false;
    // Unaligned elements are moved within the memory, possibly over an adjoining chunk.
    if (blocks_.data_offset(right->block) != right->ranges.front().offset % page) return false;
    const FileRange& before = left->ranges.front();
    const FileRange& after = right->ranges.front();
    return before.file == after.file && pages_begin(after) <= pages_end(before) &&
           end_of(before) <= after.offset;
  };
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    std::byte* const begin = memory;
    do memory += blocks_.footprint(order[end++]->block);
    while (end < order.size() && adjoin(order[end - 1], order[end]));
    start_run(std::span(order).subspan(first, end - first), begin);
  }
  return readings;
}

// Some file systems accept O_DIRECT when they open a file but refuse the reads.
void CheckpointBlockReader::read_again(BlockRun& run) const {
  run.refused = false;
  try {
    std::byte* memory = run.memory;
    for (const FileRange& range : run.ranges) {
      read_cached(blocks_.files()[range.file], range.offset, memory + range.offset % page,
                  range.bytes);
      memory += pages_end(range) - pages_begin(range);
    }
  } catch (const std::exception& error) {
    run.failure = error.what();
  }
}

void CheckpointBlockReader::wait(BlockReading& reading) {
  BlockRun& run = *reading.run;
  for (BlockRequest& request : run.requests) try {
      request.wait();
    } catch (const Error&) {
      run.refused = true;
    }
  run.requests.clear();
  run.files.clear();
}

Tensor CheckpointBlockReader::finish(BlockReading& reading) const {
  wait(reading);
  if (reading.run->refused) read_again(*reading.run);
  if (!reading.run->failure.empty()) throw Error(reading.run->failure);
  const TensorPiece piece = blocks_.at(reading.block);
  const CheckpointTensor& tensor = blocks_.tensors()[piece.tensor];
  std::byte* const to = reading.memory + blocks_.data_offset(reading.block);
  const Tensor data(static_cast<void*>(to), tensor.dtype, {piece.end - piece.begin});
  if (reading.ranges.empty()) {
    reader_.read(tensor.name, hdf5::flat_range_boxes(tensor.shape, piece.begin, piece.end), data);
    return data;
  }
  // Moves the ranges together where they do not adjoin.
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
