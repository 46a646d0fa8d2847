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

constexpr std::int64_t newest_format = 1;
constexpr const char* remedy = "Check free space, quota and permissions of checkpoint.directory";

int rank_of(MPI_Comm comm) {
  int rank = 0;
  if (comm != MPI_COMM_NULL) MPI_Comm_rank(comm, &rank);
  return rank;
}

bool shared(MPI_Comm comm) {
  int size = 1;
  if (comm != MPI_COMM_NULL) MPI_Comm_size(comm, &size);
  return size > 1;
}

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

void write_header(hdf5::File& file, const CheckpointHeader& header) {
  file.write_attribute("/", "format_version", header.format_version);
  file.write_attribute("/", "step", header.step);
  file.write_attribute("/", "tokens", header.tokens);
  file.write_attribute("/", "samples", header.samples);
  file.write_attribute("/", "job", header.job);
  file.write_attribute("/", "model", header.model);
  file.write_attribute("/", "grid", header.grid);
  file.write_attribute("/", "triax_version", header.version);
  if (!header.loss_scale.empty()) file.write_attribute("/", "loss_scale", header.loss_scale);
}

CheckpointHeader read_header(const hdf5::File& file, const std::string& path) {
  if (!file.has_attribute("/", "format_version") || !file.exists("/model"))
    throw Error(path + " is not a triax checkpoint",
                "an HDF5 file without the attribute format_version or the group /model",
                "Give a file that triax wrote");
  CheckpointHeader header;
  header.format_version = file.integer_attribute("/", "format_version");
  if (header.format_version > newest_format)
    throw Error(fmt::format("{} is a checkpoint of format version {}", path, header.format_version),
                fmt::format("this triax reads up to version {}", newest_format),
                "Use a newer triax");
  header.step = file.integer_attribute("/", "step");
  header.tokens = file.integer_attribute("/", "tokens");
  header.samples = file.integer_attribute("/", "samples");
  header.job = file.string_attribute("/", "job");
  header.model = file.string_attribute("/", "model");
  header.grid = file.string_attribute("/", "grid");
  header.version = file.string_attribute("/", "triax_version");
  if (file.has_attribute("/", "loss_scale"))
    header.loss_scale = file.string_attribute("/", "loss_scale");
  return header;
}

}  // namespace

CheckpointWriter::CheckpointWriter(const std::string& path, const Ranks& ranks)
    : path_(path), temporary_(path + ".tmp"), ranks_(ranks) {
  agreed(ranks_, [&] {
    if (rank_of(ranks_.comm) == 0) prepare(temporary_);
  });
  try {
    agreed_together(ranks_,
                    [&] { file_.emplace(temporary_, hdf5::File::Mode::create, ranks_.comm); });
  } catch (...) {
    discard();
    throw;
  }
}

CheckpointWriter::~CheckpointWriter() {
  if (!file_) return;
  // Closing is collective. A rank that unwinds alone must get to where the job is aborted, not wait
  // here for the others: it leaves the file to the end of the process.
  if (std::uncaught_exceptions() > 0 && shared(ranks_.comm))
    (void)new (std::nothrow) hdf5::File(std::move(*file_));
  discard();
}

void CheckpointWriter::discard() noexcept {
  // HDF5 writes once more when it closes. On a full disk that needs the room that the file's data
  // hold.
  if (rank_of(ranks_.comm) == 0 && file_) (void)!::truncate(temporary_.c_str(), 0);
  if (file_) {
    const WaitScope waiting(ranks_.watch);  // closing is collective
    file_.reset();
  }
  if (rank_of(ranks_.comm) == 0) ::unlink(temporary_.c_str());
}

void CheckpointWriter::create(const CheckpointHeader& header,
                              const std::vector<CheckpointTensor>& tensors) {
  try {
    agreed(ranks_, [&] {
      auto bytes = static_cast<std::int64_t>(header.job.size() + header.model.size());
      for (const CheckpointTensor& tensor : tensors)
        bytes += tensor.shape.elements() * static_cast<std::int64_t>(size_of(tensor.dtype));
      if (rank_of(ranks_.comm) == 0) reserve_space(temporary_, bytes);
    });
    agreed_together(ranks_, [&] {
      write_header(*file_, header);
      for (const CheckpointTensor& tensor : tensors)
        file_->create_dataset(tensor.name, tensor.dtype, tensor.shape);
    });
  } catch (...) {
    discard();
    throw;
  }
}

void CheckpointWriter::write(const std::string& name, const std::vector<hdf5::Box>& boxes,
                             const Tensor& data) {
  check(file_.has_value(), "write to the closed checkpoint {}", path_);
  if (!failure_.empty()) return;
  try {
    file_->write(name, boxes, data);
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void CheckpointWriter::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

void CheckpointWriter::publish() {
  check(file_.has_value(), "publish of the closed checkpoint {}", path_);
  try {
    agree(ranks_, failure_);
    agreed_together(ranks_, [&] { file_->close(); });
    agreed(ranks_, [&] { sync_path(temporary_); });  // each node syncs what it wrote
    agreed(ranks_, [&] {
      if (rank_of(ranks_.comm) == 0) rename_durably(temporary_, path_);
    });
    file_.reset();
  } catch (const Error& error) {
    discard();
    throw Error(fmt::format("the checkpoint {} was not written", path_), error.what(),
                "Earlier checkpoints are untouched");
  }
}

CheckpointReader::CheckpointReader(const std::string& path)
    : file_(path, hdf5::File::Mode::read), header_(read_header(file_, path)) {}

std::vector<CheckpointTensor> CheckpointReader::tensors() const {
  std::vector<CheckpointTensor> out;
  for (const std::string& name : file_.datasets("/"))
    out.push_back({name, file_.dtype(name), file_.shape(name)});
  return out;
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
