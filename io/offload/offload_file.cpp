// SPDX-License-Identifier: Apache-2.0
#include "io/offload/offload_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "io/files/durable.hpp"
#include "io/hdf5/hdf5_memory.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

enum class Lock : std::uint8_t { taken, of_another, unknown };

// Locks an open file (fcntl(2), F_OFD_SETLK) until it is closed or the process ends. flock(2) would
// not do: HDF5's tools take it to read, and must be able to read these files.
Lock lock(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &whole) == 0) return Lock::taken;
  return errno == EAGAIN || errno == EACCES ? Lock::of_another
                                            : Lock::unknown;  // the file system has no locks
}

}  // namespace

std::vector<std::string> remove_left_files(const std::string& directory,
                                           const std::string& prefix) {
  std::vector<std::string> removed;
  std::error_code error;  // an unreadable directory has nothing to remove
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    if (lock(fd) == Lock::taken && ::unlink(path.c_str()) == 0) removed.push_back(path);
    ::close(fd);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

/// Creates a file if it is absent, locks it, and removes it at the end.
class OffloadFile::Claim {
 public:
  explicit Claim(const std::string& path) : path_(path) {
    // The process that owned the file may remove it between our open and our lock.
    while (fd_ < 0) {
      open();
      refuse_others();
      if (!is_ours()) ::close(std::exchange(fd_, -1));
    }
  }
  ~Claim() {
    if (!keep_ && is_ours()) ::unlink(path_.c_str());
    ::close(fd_);
  }
  /// The destructor leaves the file.
  void keep() { keep_ = true; }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  void open() {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0)
      throw Error("cannot create " + path_, std::strerror(errno),
                  "Check that its directory exists on every node and is writable");
  }

  void refuse_others() {
    if (lock(fd_) != Lock::of_another) return;
    ::close(fd_);
    throw Error("cannot use " + path_, "another process is using it",
                "End that process, or choose another directory");
  }

  // Whether the path still names the locked file.
  bool is_ours() const {
    struct stat locked {};
    struct stat named {};
    return ::fstat(fd_, &locked) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
  }

  std::string path_;
  bool keep_ = false;
  int fd_ = -1;
};

OffloadFile::OffloadFile(const std::string& path, const std::vector<OffloadDataset>& datasets,
                         const Options& options)
    : path_(path), claim_(std::make_unique<Claim>(path)) {
  create(datasets);
  BlockFile::Options blocks = options.blocks;
  blocks.writable = true;
  blocks_ = std::make_unique<BlockFile>(path, blocks);
  if (options.keep) claim_->keep();
}

OffloadFile::~OffloadFile() = default;

void OffloadFile::create(const std::vector<OffloadDataset>& datasets) {
  hdf5::FileInMemory memory(hdf5::File::Mode::create_blocks);
  for (const OffloadDataset& dataset : datasets) {
    check(dataset.elements >= 0, "{} elements in {}", dataset.elements, dataset.name);
    memory.file().create_dataset(dataset.name, dataset.dtype, {dataset.elements});
    extents_.push_back({dataset, memory.file().offset(dataset.name)});
  }
  memory.close();
  std::filesystem::resize_file(path_, 0);  // drops the contents a dead run left
  memory.put_into(path_);

  bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  for (const Extent& extent : extents_) {
    check(extent.offset % BlockFile::alignment == 0, "{} lies at byte {}", extent.dataset.name,
          extent.offset);
    bytes_ = std::max(bytes_, extent.offset + padded_bytes(extent.dataset));
  }
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(bytes_));
  reserve_space(path_, bytes_);
}

OffloadFile::Range OffloadFile::range(std::size_t dataset, std::int64_t first,
                                      const Tensor& tensor) const {
  check(dataset < extents_.size(), "dataset {} of {}", dataset, extents_.size());
  const Extent& extent = extents_[dataset];
  const OffloadDataset& is = extent.dataset;
  check(tensor.dtype() == is.dtype && tensor.contiguous() && tensor.space() == MemorySpace::host,
        "transfer of {} {} in {}", tensor.shape(), name_of(tensor.dtype()), is.name);
  const std::int64_t count = tensor.elements();
  const std::int64_t page = padded_elements(is.dtype, 1);
  const std::int64_t end = first + count;
  check(first >= 0 && end <= padded_elements(is.dtype, is.elements),
        "elements {} to {} of the {} of {}", first, end, is.elements, is.name);
  check(first % page == 0 && (count % page == 0 || end >= is.elements),
        "elements {} to {} of {} do not fill pages of {}", first, end, is.name, page);
  const auto width = static_cast<std::int64_t>(size_of(is.dtype));
  return {extent.offset + first * width, static_cast<std::size_t>(padded_bytes(is.dtype, count))};
}

BlockRequest OffloadFile::read(std::size_t dataset, std::int64_t first, const Tensor& to) {
  const Range at = range(dataset, first, to);
  return blocks_->read(at.offset, {static_cast<std::byte*>(to.data()), at.bytes});
}

BlockRequest OffloadFile::write(std::size_t dataset, std::int64_t first, const Tensor& from) {
  const Range at = range(dataset, first, from);
  return blocks_->write(at.offset, {static_cast<const std::byte*>(from.data()), at.bytes});
}

std::string OffloadFile::description() const {
  return fmt::format("{}: {} bytes, {}", path_, bytes_, blocks_->description());
}

}  // namespace triax
