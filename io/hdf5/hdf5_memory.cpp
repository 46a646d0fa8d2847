// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_memory.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>

#include "io/direct/block_file.hpp"
#include "io/files/durable.hpp"
#include "io/hdf5/hdf5_impl.hpp"
#include "kernels/base/check.hpp"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace triax::hdf5 {
namespace {

constexpr std::size_t page_bytes = BlockFile::alignment;

// Written pages of a file; bytes outside them are zero.
struct Image {
  std::map<haddr_t, std::array<char, page_bytes>> pages;  // key: address of the page's first byte
  haddr_t length = 0;

  // Calls visit(page address, offset in the page, offset in the range, bytes) for each page of a
  // range.
  template <class Visit>
  static void each_page(haddr_t begin, std::size_t size, Visit&& visit) {
    for (std::size_t done = 0; done < size;) {
      const std::size_t in_page = (begin + done) % page_bytes;
      const std::size_t bytes = std::min(page_bytes - in_page, size - done);
      visit(begin + done - in_page, in_page, done, bytes);
      done += bytes;
    }
  }
};

// An open file of this driver; HDF5 requires its own H5FD_t as the first member.
struct OpenImage {
  H5FD_t of_hdf5{};
  Image* image = nullptr;
  haddr_t allocated = 0;
};

OpenImage& opened(H5FD_t* file) {
  return *reinterpret_cast<OpenImage*>(file);
}
const OpenImage& opened(const H5FD_t* file) {
  return *reinterpret_cast<const OpenImage*>(file);
}

H5FD_t* open_image(const char*, unsigned, hid_t access, haddr_t) {
  const void* const info = H5Pget_driver_info(access);
  auto* const file = new (std::nothrow) OpenImage;
  if (info == nullptr || file == nullptr) return nullptr;
  file->image = *static_cast<Image* const*>(info);
  return &file->of_hdf5;
}

herr_t close_image(H5FD_t* file) {
  opened(file).image->length = opened(file).allocated;
  delete &opened(file);
  return 0;
}

// The same feature flags as HDF5's default file driver, so that it aggregates writes alike.
herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) {
  return opened(file).allocated;
}

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  opened(file).allocated = end;
  return 0;
}

haddr_t written_end(const H5FD_t* file, H5FD_mem_t) {
  const auto& pages = opened(file).image->pages;
  return pages.empty() ? 0 : pages.rbegin()->first + page_bytes;
}

herr_t read_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* to) {
  const auto& pages = opened(file).image->pages;
  Image::each_page(at, size, [&](haddr_t page, std::size_t in_page, std::size_t done, auto bytes) {
    const auto found = pages.find(page);
    char* const out = static_cast<char*>(to) + done;
    if (found == pages.end())
      std::memset(out, 0, bytes);
    else
      std::memcpy(out, found->second.data() + in_page, bytes);
  });
  return 0;
}

herr_t write_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size,
                   const void* from) {
  try {
    auto& pages = opened(file).image->pages;
    Image::each_page(
        at, size, [&](haddr_t page, std::size_t in_page, std::size_t done, auto bytes) {
          std::memcpy(pages[page].data() + in_page, static_cast<const char*>(from) + done, bytes);
        });
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(H5_VFD_RESERVED + 1);
#endif
  driver.name = "triax_memory";
  driver.maxaddr = (haddr_t{1} << 62) - 1;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(void*);
  driver.open = open_image;
  driver.close = close_image;
  driver.query = query;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = written_end;
  driver.read = read_image;
  driver.write = write_image;
  constexpr std::array<H5FD_mem_t, H5FD_MEM_NTYPES> free_lists = H5FD_FLMAP_DICHOTOMY;
  std::ranges::copy(free_lists, driver.fl_map);
  return driver;
}

[[noreturn]] void fail(const std::string& path, int error = errno) {
  throw Error("cannot write " + path, std::strerror(error),
              "Check the disk's health, and free space, quota and permissions of its directory");
}

class Output {
 public:
  explicit Output(const std::string& path, int flags = 0)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666)) {
    if (fd_ < 0) fail(path);
  }
  ~Output() { ::close(fd_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const char* data, std::size_t bytes, haddr_t at) const {
    auto place = static_cast<std::int64_t>(at);
    const int error = write_all(fd_, std::as_bytes(std::span(data, bytes)), place);
    if (error != 0) fail(path_, error);
  }
  void set_length(haddr_t bytes) const {
    if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) fail(path_);
  }
  // Syncs the file and drops its cached pages. An NFS client that keeps a page writes it whole when
  // a byte of it changes, over the data that other nodes wrote there.
  void let_go() const {
    if (::fdatasync(fd_) != 0 && errno != EINVAL) fail(path_);
    (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  }

 private:
  std::string path_;
  int fd_;
};

// The MPI library sets stripes on each parallel file system it knows; truncating the file keeps
// them. A prefix "ufs:" would make it take the path, but choose the plain driver, which sets none.
void create_striped(const std::string& path, const FileHints& hints) {
  MPI_Info info = MPI_INFO_NULL;
  if (MPI_Info_create(&info) != MPI_SUCCESS) return;
  const auto hint = [&](const char* key, std::int64_t value) {
    if (value > 0) MPI_Info_set(info, key, std::to_string(value).c_str());
  };
  hint("striping_factor", hints.striping_factor);
  hint("striping_unit", hints.striping_unit);
  ::unlink(path.c_str());  // an existing file keeps its stripes
  MPI_File file = MPI_FILE_NULL;
  const int opened =
      MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file);
  if (opened == MPI_SUCCESS) MPI_File_close(&file);
  MPI_Info_free(&info);
}

}  // namespace

struct FileInMemory::Driver {
  Image image;
  Handle id;
};

void create_empty(const std::string& path, const FileHints& hints) {
  if ((hints.striping_factor > 0 || hints.striping_unit > 0) && mpi_io_takes(path))
    create_striped(path, hints);
  const Output made(path, O_CREAT | O_TRUNC);
}

FileInMemory::FileInMemory(File::Mode mode, const FileHints& hints, std::int64_t structure_bytes)
    : driver_(std::make_unique<Driver>()) {
  const auto lock = library_lock();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // failures are thrown, not printed
  const H5FD_class_t driver = driver_class();
  driver_->id = Handle(H5FDregister(&driver), H5FDunregister);
  const Handle access = file_access(mode, hints, structure_bytes);
  Image* const image = &driver_->image;
  check(driver_->id && H5Pset_driver(access.id(), driver_->id.id(), &image) >= 0,
        "HDF5 refuses a driver: {}", last_error());
  auto impl = std::make_unique<File::Impl>();
  impl->path = "a file in memory";
  impl->file = create_file(impl->path, mode, access);
  file_.emplace(File(std::move(impl)));
}

FileInMemory::~FileInMemory() {
  const auto lock = library_lock();
  file_.reset();
  driver_.reset();
}

void FileInMemory::close() {
  file_->close();
  file_.reset();
}

void FileInMemory::put_into(const std::string& path) const {
  const Image& image = driver_->image;
  reserve_space(path, static_cast<std::int64_t>(image.length));
  const Output out(path);
  out.set_length(image.length);
  for (const auto& [at, bytes] : image.pages)
    if (at < image.length) out.write(bytes.data(), std::min(page_bytes, image.length - at), at);
  out.let_go();
}

}  // namespace triax::hdf5
