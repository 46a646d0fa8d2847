#include "io/checkpoint_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "io/agree.hpp"
#include "io/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr const char* remedy = "Check free space, quota and permissions of checkpoint.directory";

// Makes the directory and an empty file, with the system's own reasons, which HDF5 over MPI would
// hide.
void prepare(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(directory_of(path), error);
  if (error)
    throw Error("cannot create the directory " + directory_of(path), error.message(), remedy);
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) throw Error("cannot write the checkpoint " + path, std::strerror(errno), remedy);
  ::close(fd);
}

hdf5::File open_sealed(const std::string& path) {
  check_seal(path);
  return {path, hdf5::File::Mode::read};
}

// Rank 0's texts of a header.
struct SharedTexts {
  const Ranks& ranks;
  void operator()(const char*, std::int64_t) const {}
  void operator()(const char*, std::string& text) const {
    text = broadcast_text(ranks, std::move(text));
  }
};

}  // namespace

CheckpointWriter::CheckpointWriter(const std::string& path, const Ranks& ranks,
                                   const CheckpointOptions& options)
    : path_(path), temporary_(path + ".tmp"), ranks_(ranks), options_(options) {
  check(options.files >= 1, "a checkpoint in {} files", options.files);
  agreed(ranks_, [&] {
    if (ranks_.rank == 0) prepare(temporary_);
  });
  try {
    if (options.files > 1)
      parts_.emplace(path, options.files, ranks_, options.hints);
    else
      agreed_together(ranks_, [&] {
        file_.emplace(temporary_, hdf5::File::Mode::create, ranks_.comm, options.hints);
      });
  } catch (...) {
    discard();
    throw;
  }
}

CheckpointWriter::~CheckpointWriter() {
  if (!open_) return;
  // Closing is collective. A rank that unwinds alone must get to where the job is aborted, not wait
  // here for the others: it leaves the files to the end of the process.
  if (std::uncaught_exceptions() > 0 && ranks_.size > 1) {
    if (file_) (void)new (std::nothrow) hdf5::File(std::move(*file_));
    if (parts_) (void)new (std::nothrow) CheckpointParts(std::move(*parts_));
    (void)data_.release();
    file_.reset();
    parts_.reset();
  }
  discard();
}

void CheckpointWriter::discard() noexcept {
  open_ = false;
  // HDF5 writes once more when it closes. On a full disk that needs the room that the file's data
  // hold.
  if (ranks_.rank == 0 && file_) (void)!::truncate(temporary_.c_str(), 0);
  {
    // Closing is collective, but of the master of parts, which is rank 0's alone.
    const WaitScope waiting(file_ && !parts_ ? ranks_.watch : nullptr);
    data_.reset();
    file_.reset();
  }
  if (ranks_.rank == 0) ::unlink(temporary_.c_str());
  if (parts_) parts_->discard();
}

void CheckpointWriter::create(const CheckpointHeader& header,
                              const std::vector<CheckpointTensor>& tensors) {
  try {
    // HDF5's ranks write attributes each a part, and must all have the same.
    header_ = header;
    for_each_attribute(header_, SharedTexts{ranks_});
    agreed(ranks_, [&] {
      tensors_ = tensors;
      sums_ = TensorChecksums(tensors);
      auto bytes = static_cast<std::int64_t>(header_.job.size() + header_.model.size());
      for (const CheckpointTensor& tensor : tensors)
        if (!parts_) bytes += tensor.bytes();
      if (ranks_.rank == 0) reserve_space(temporary_, bytes);
    });
    if (parts_) {
      parts_->create(tensors);
      places_ = parts_->places();
      return open_data();
    }
    agreed_together(ranks_, [&] {
      write_header(*file_, header_);
      for (const CheckpointTensor& tensor : tensors)
        file_->create_dataset(tensor.name, tensor.dtype, tensor.shape);
      create_integrity(*file_, header_, tensors);
      places_ = CheckpointPlaces({temporary_});
      for (const auto& [name, dtype, shape] : tensors)
        places_.add(name, dtype, shape, {{0, 0, shape.elements(), file_->offset(name)}});
    });
    open_data();
  } catch (...) {
    discard();
    throw;
  }
}

void CheckpointWriter::open_data() {
  data_ = options_.collective && ranks_.size > 1
              ? collective_writer(places_.paths(), ranks_, options_.hints)
              : independent_writer(places_.paths());
}

void CheckpointWriter::write(const std::string& name, const std::vector<hdf5::Box>& boxes,
                             const Tensor& data) {
  check(open_, "write to the closed checkpoint {}", path_);
  if (!failure_.empty()) return;
  try {
    sums_.add(name, boxes, data);
    data_->write(places_.segments(name, boxes, data));
  } catch (const std::exception& error) {
    fail(fmt::format("{}: {}", name, error.what()));
  }
}

void CheckpointWriter::flush() {
  try {
    data_->finish();
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void CheckpointWriter::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

// Where there are parts: the file that shows them as one. By rank 0.
void CheckpointWriter::write_master() {
  file_.emplace(temporary_, hdf5::File::Mode::create_behind_block);
  header_.parts = parts_->description();
  write_header(*file_, header_);
  parts_->link(*file_);
  create_integrity(*file_, header_, tensors_);
}

void CheckpointWriter::publish() {
  check(open_, "publish of the closed checkpoint {}", path_);
  flush();
  try {
    agree(ranks_, failure_);
    data_.reset();
    sum_over_ranks(ranks_, sums_.all());
    if (parts_) parts_->finish();
    agreed(ranks_, [&] {
      if (ranks_.rank != 0) return;
      if (parts_) write_master();
      write_integrity(*file_, tensors_, sums_);
    });
    agreed_together(ranks_, [&] {
      if (file_) file_->close();
      if (file_ && parts_) seal_master(temporary_);
    });
    agreed(ranks_, [&] {  // each node syncs what it wrote
      if (file_) sync_path(temporary_);
    });
    agreed(ranks_, [&] {
      if (ranks_.rank == 0) rename_path(temporary_, path_);
    });
  } catch (const Error& error) {
    discard();
    throw Error(fmt::format("the checkpoint {} was not written", path_), error.what(),
                "Earlier checkpoints are untouched");
  }
  file_.reset();
  open_ = false;  // from here on it has its name
  try {
    agreed(ranks_, [&] {
      if (ranks_.rank == 0) sync_path(directory_of(path_));
    });
  } catch (const Error& error) {
    throw Error(fmt::format("the checkpoint {} was written, but may be gone after a crash of the "
                            "machine",
                            path_),
                error.what(), "Check the disk of checkpoint.directory");
  }
}

CheckpointReader::CheckpointReader(const std::string& path)
    : path_(path),
      file_(open_sealed(path)),
      header_(read_header(file_, path)),
      has_checksums_(header_.format_version >= checksums_since || file_.exists("/integrity")) {
  if (has_checksums()) check_header(file_, path, header_);
  check_parts(path, parse_parts(header_.parts));
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
  std::vector<std::uint64_t> sums = read_integrity(file_, name);
  const auto blocks =
      static_cast<std::size_t>(integrity_blocks(shape(name).elements(), checksum_block()));
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
