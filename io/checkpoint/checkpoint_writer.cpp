// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>
#include <utility>

#include "io/direct/block_file.hpp"
#include "io/hdf5/hdf5_memory.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {
namespace {

constexpr const char* remedy = "Check free space, quota and permissions of checkpoint.directory";

// Creates the directory and an empty file.
void prepare(const std::string& path, const hdf5::FileHints& hints) {
  std::error_code error;
  std::filesystem::create_directories(directory_of(path), error);
  if (error)
    throw Error("cannot create the directory " + directory_of(path), error.message(), remedy);
  hdf5::create_empty(path, hints);
}

// Calls visit() for the segments of a tensor in portions of about `most` bytes, so small that a
// second read (the checksum) finds a portion in the processor's cache. Long segments are cut at
// page boundaries of the file.
template <class Visit>
void for_each_portion(const std::vector<DataSegment>& segments, std::size_t width,
                      std::int64_t most, Visit&& visit) {
  constexpr std::int64_t page = BlockFile::alignment;
  std::vector<DataSegment> portion;
  std::int64_t bytes = 0;
  const auto end_portion = [&] {
    if (!portion.empty()) visit(std::span<const DataSegment>(portion));
    portion.clear();
    bytes = 0;
  };
  for (DataSegment rest : segments)
    while (rest.bytes > 0) {
      std::int64_t part = rest.bytes;
      if (part >= most + long_segment)
        part = (rest.offset + most + page - 1) / page * page - rest.offset;
      const auto elements = part / static_cast<std::int64_t>(width);
      part = part < rest.bytes ? elements * static_cast<std::int64_t>(width) : part;
      portion.push_back({rest.file, rest.offset, part, rest.memory, rest.first});
      rest = {rest.file, rest.offset + part, rest.bytes - part, rest.memory + part,
              rest.first + elements};
      bytes += part;
      if (bytes >= most) end_portion();
    }
  end_portion();
}

// Broadcasts the texts of a header from rank 0.
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
    if (ranks_.rank == 0)
      prepare(temporary_, options.files > 1 ? hdf5::FileHints() : options.hints);
  });
  try {
    if (options.files > 1) parts_.emplace(path, options.files, ranks_, options.hints);
  } catch (...) {
    discard();
    throw;
  }
}

CheckpointWriter::~CheckpointWriter() {
  if (!open_) return;
  discard();
}

void CheckpointWriter::discard() noexcept {
  open_ = false;
  data_.reset();
  if (ranks_.rank == 0) ::unlink(temporary_.c_str());
  if (parts_) parts_->discard();
}

void CheckpointWriter::create(const CheckpointHeader& header,
                              const std::vector<CheckpointTensor>& tensors) {
  try {
    std::vector<CheckpointTensor> datasets;
    std::vector<std::uint64_t> offsets;  // filled on rank 0, zeros elsewhere
    agreed(ranks_, [&] { header_ = header; });
    for_each_attribute(header_, SharedTexts{ranks_});
    agreed(ranks_, [&] {
      datasets = tensors_ = tensors;
      sums_ = TensorChecksums(tensors);
      std::ranges::move(integrity_datasets(tensors), std::back_inserter(datasets));
      offsets.resize(datasets.size());
      if (ranks_.rank == 0 && !parts_) offsets = write_structure(datasets);
    });
    if (parts_)
      parts_->create(tensors);
    else
      sum_over_ranks(ranks_, offsets);
    agreed(ranks_, [&] {  // one rank may be short of memory for the collective buffers
      extents_ = parts_ ? parts_->extents() : extents_of(datasets, offsets);
      open_data();
    });
    data_->meet();
  } catch (...) {
    discard();
    throw;
  }
}

CheckpointExtents CheckpointWriter::extents_of(const std::vector<CheckpointTensor>& datasets,
                                               const std::vector<std::uint64_t>& offsets) const {
  CheckpointExtents extents({temporary_});
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    const auto& [name, dtype, shape] = datasets[i];
    extents.add(name, dtype, shape,
                {{0, 0, shape.elements(), static_cast<std::int64_t>(offsets[i])}});
  }
  return extents;
}

void CheckpointWriter::open_data() {
  data_ = options_.collective && ranks_.size > 1
              ? collective_writer(extents_.paths(), ranks_, options_.hints.striping_unit,
                                  options_.gather)
              : independent_writer(extents_.paths(), options_.gather);
}

// Writes the file's structure, on rank 0. Returns the file offsets of the datasets.
std::vector<std::uint64_t> CheckpointWriter::write_structure(
    const std::vector<CheckpointTensor>& datasets) {
  hdf5::FileInMemory memory(hdf5::File::Mode::create, options_.hints,
                            hdf5::structure_estimate(datasets.size()));
  write_header(memory.file(), header_);
  // Before the tensors: otherwise HDF5 puts the checksums into the alignment gaps between them.
  create_integrity(memory.file(), header_, tensors_);
  for (const CheckpointTensor& tensor : tensors_)
    memory.file().create_dataset(tensor.name, tensor.dtype, tensor.shape);
  std::vector<std::uint64_t> offsets;
  for (const CheckpointTensor& dataset : datasets)
    offsets.push_back(static_cast<std::uint64_t>(memory.file().offset(dataset.name)));
  memory.close();
  memory.put_into(temporary_);
  return offsets;
}

void CheckpointWriter::write(const std::string& name, const std::vector<hdf5::Box>& boxes,
                             const Tensor& data, Lifetime memory) {
  check(open_, "write to the closed checkpoint {}", path_);
  if (!failure_.empty()) return;
  try {
    // Memory that is written without a copy is read only once, so its portions may be larger.
    const std::int64_t portion = memory == Lifetime::call ? long_segment : 16 * long_segment;
    for_each_portion(extents_.segments(name, boxes, data), size_of(data.dtype()), portion,
                     [&](std::span<const DataSegment> segments) {
                       data_->write(segments, memory);
                       sums_.add(name, segments);
                     });
  } catch (const std::exception& error) {
    fail(fmt::format("{}: {}", name, failure_text(error)));
  }
}

void CheckpointWriter::flush() {
  try {
    data_->finish();
  } catch (const std::exception& error) {
    fail(failure_text(error));
  }
}

void CheckpointWriter::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

// Writes the master of a checkpoint in parts: the file whose virtual datasets show the parts as
// one. On rank 0.
void CheckpointWriter::write_master() {
  hdf5::FileInMemory memory(hdf5::File::Mode::create_behind_block);
  header_.parts = parts_->description();
  write_header(memory.file(), header_);
  parts_->link(memory.file());
  create_integrity(memory.file(), header_, tensors_);
  write_integrity(memory.file(), tensors_, sums_);
  memory.close();
  memory.put_into(temporary_);
  seal_master(temporary_);
  sync_path(temporary_);
}

std::string CheckpointWriter::publish() {
  check(open_, "publish of the closed checkpoint {}", path_);
  flush();
  try {
    agree(ranks_, failure_);
    data_.reset();
    sum_over_ranks(ranks_, sums_.all());
    agreed(ranks_, [&] {
      if (ranks_.rank != 0) return;
      if (parts_) {
        parts_->finish();
        write_master();
      } else {
        const auto own = independent_writer(extents_.paths(), options_.gather);
        write_integrity(extents_, *own, tensors_, sums_);
        own->finish();
      }
      rename_path(temporary_, path_, options_.existing);
    });
  } catch (const Error& error) {
    discard();
    throw Error(fmt::format("the checkpoint {} was not written", path_), error.what(),
                "Earlier checkpoints are untouched");
  }
  open_ = false;
  try {
    agreed(ranks_, [&] {
      if (ranks_.rank == 0) sync_path(directory_of(path_));
    });
  } catch (const Error& error) {
    return Error(fmt::format(
                     "the checkpoint {} is there, but may be gone after a crash of the machine",
                     path_),
                 error.what(), "Check the disk of checkpoint.directory")
        .what();
  }
  return {};
}

}  // namespace triax
