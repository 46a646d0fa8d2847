// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_parts.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/files/durable.hpp"
#include "io/files/numbered_name.hpp"
#include "io/hdf5/hdf5_memory.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view infix = ".parts";

std::string directory_name(const std::string& master, std::uint64_t number) {
  return numbered_name(master + std::string(infix), number);
}

// Creates a new part directory and returns its number.
std::uint64_t make_directory(const std::string& master) {
  for (std::uint64_t number = 0;; ++number) {
    const std::string path = directory_name(master, number);
    if (::mkdir(path.c_str(), 0777) == 0) return number;
    if (errno != EEXIST)
      throw Error("cannot create the directory " + path, std::strerror(errno),
                  "Check free space, quota and permissions of checkpoint.directory");
  }
}

std::int64_t rows_of(const CheckpointTensor& tensor) {
  return tensor.shape.rank() == 0 ? 1 : tensor.shape[0];
}

// Sorts tensors by their position in the model: weights and moments of the first tensor, then those
// of the second. A rank that holds a few layers then writes to few part files.
std::vector<CheckpointTensor> in_model_order(const std::vector<CheckpointTensor>& tensors) {
  std::map<std::string, std::size_t> seen;  // tensors seen per group
  std::vector<std::pair<std::size_t, const CheckpointTensor*>> places;
  for (const CheckpointTensor& tensor : tensors)
    places.emplace_back(seen[tensor.name.substr(0, tensor.name.rfind('/'))]++, &tensor);
  std::ranges::stable_sort(places, {}, [](const auto& place) { return place.first; });
  std::vector<CheckpointTensor> out;
  for (const auto& [ignored, tensor] : places) out.push_back(*tensor);
  return out;
}

// Rows of a tensor as a tensor.
CheckpointTensor cut(const CheckpointTensor& tensor, const TensorSlice& slice) {
  CheckpointTensor part = tensor;
  if (tensor.shape.rank() > 0) part.shape[0] = slice.end - slice.begin;
  return part;
}

}  // namespace

std::vector<std::vector<TensorSlice>> deal_tensors(const std::vector<CheckpointTensor>& tensors,
                                                   std::size_t parts) {
  std::int64_t left = 0;
  for (const CheckpointTensor& tensor : tensors) left += tensor.bytes();
  std::vector<std::vector<TensorSlice>> dealt;
  std::size_t part = 0;
  std::int64_t room = 0;  // bytes left of this part's share
  const auto share = [&] {
    const auto open = static_cast<std::int64_t>(parts - part);
    return (left + open - 1) / open;
  };
  room = share();
  bool empty = true;  // whether the current part is empty
  for (const CheckpointTensor& tensor : tensors) {
    std::vector<TensorSlice>& slices = dealt.emplace_back();
    const std::int64_t rows = rows_of(tensor);
    const std::int64_t row_bytes = rows == 0 ? 0 : tensor.bytes() / rows;
    std::int64_t row = 0;
    do {
      // A rest that fits stays in this part; a rest of at most 1/8 of the share is not cut.
      const std::int64_t rest = (rows - row) * row_bytes;
      std::int64_t count = rows - row;
      if (rest > room && rest > share() / 8 && part + 1 < parts && row_bytes > 0)
        count = std::min(count, std::max(room / row_bytes, std::int64_t{empty ? 1 : 0}));
      if (count > 0 || rows == 0) slices.push_back({part, row, row + count});
      row += count;
      left -= count * row_bytes;
      room -= count * row_bytes;
      empty = empty && count == 0;
      if ((room <= 0 || row < rows) && part + 1 < parts) {
        ++part;
        room = share();
        empty = true;
      }
    } while (row < rows);
  }
  return dealt;
}

CheckpointParts::CheckpointParts(const std::string& master, int parts, const Ranks& ranks,
                                 const hdf5::FileHints& hints)
    : ranks_(ranks), hints_(hints), parts_(static_cast<std::size_t>(parts)) {
  std::uint64_t number = 0;
  agreed(ranks_, [&] {
    if (ranks_.rank == 0) number = make_directory(master);
  });
  sum_over_ranks(ranks_, std::span(&number, 1));
  directory_ = directory_name(master, number);
}

std::string CheckpointParts::path(std::size_t part) const {
  return fmt::format("{}/part-{:03}.h5", directory_, part);
}

void CheckpointParts::create(const std::vector<CheckpointTensor>& unordered) {
  const std::vector<CheckpointTensor> tensors = in_model_order(unordered);
  const auto dealt = deal_tensors(tensors, parts_);
  std::size_t slices = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    tensors_[tensors[t].name] = {tensors[t], dealt[t], slices};
    slices += dealt[t].size();
  }
  offsets_.resize(slices);
  std::int64_t bytes = 0;
  for (const CheckpointTensor& tensor : tensors) bytes += tensor.bytes();
  agreed(ranks_, [&] {
    if (ranks_.rank != 0) return;
    require_room(directory_, bytes);  // for all parts: otherwise the first ones would fill the disk
    for (std::size_t part = 0; part < parts_; ++part) create_part(part, tensors);
  });
  sum_over_ranks(ranks_, offsets_);
}

// Called on rank 0, which alone knows the offsets of the data.
void CheckpointParts::create_part(std::size_t part, const std::vector<CheckpointTensor>& tensors) {
  hdf5::FileInMemory memory(hdf5::File::Mode::create, hints_,
                            hdf5::structure_estimate(tensors.size()));
  const auto visit = [&](auto&& action) {
    for (const CheckpointTensor& tensor : tensors) {
      const SlicedTensor& sliced = tensors_.at(tensor.name);
      for (std::size_t s = 0; s < sliced.slices.size(); ++s)
        if (sliced.slices[s].part == part) action(sliced, s);
    }
  };
  visit([&](const SlicedTensor& sliced, std::size_t s) {
    const CheckpointTensor rows = cut(sliced.tensor, sliced.slices[s]);
    memory.file().create_dataset(rows.name, rows.dtype, rows.shape);
  });
  visit([&](const SlicedTensor& sliced, std::size_t s) {
    offsets_[sliced.first_slice + s] =
        static_cast<std::uint64_t>(memory.file().offset(sliced.tensor.name));
  });
  memory.close();
  hdf5::create_empty(path(part), hints_);
  memory.put_into(path(part));
}

CheckpointExtents CheckpointParts::extents() const {
  std::vector<std::string> paths;
  for (std::size_t part = 0; part < parts_; ++part) paths.push_back(path(part));
  CheckpointExtents all(std::move(paths));
  for (const auto& [name, sliced] : tensors_) {
    const auto& [tensor, slices, first_slice] = sliced;
    const std::int64_t row = tensor.shape.elements() / std::max<std::int64_t>(1, rows_of(tensor));
    std::vector<DataExtent> extents;
    for (std::size_t s = 0; s < slices.size(); ++s)
      extents.push_back({slices[s].part, slices[s].begin * row, slices[s].end * row,
                         static_cast<std::int64_t>(offsets_[first_slice + s])});
    all.add(name, tensor.dtype, tensor.shape, std::move(extents));
  }
  return all;
}

void CheckpointParts::finish() const {
  for (std::size_t part = 0; part < parts_; ++part) sync_path(path(part));
  sync_path(directory_);
}

void CheckpointParts::link(hdf5::File& master) const {
  const std::string relative = fs::path(directory_).filename().string();
  for (const auto& [name, sliced] : tensors_) {
    if (sliced.tensor.shape.elements() == 0) {
      master.create_dataset(name, sliced.tensor.dtype, sliced.tensor.shape);
      continue;
    }
    std::vector<hdf5::VirtualSource> sources;
    for (const TensorSlice& slice : sliced.slices)
      sources.push_back({relative + "/" + fs::path(path(slice.part)).filename().string(),
                         slice.begin, slice.end});
    master.create_virtual(name, sliced.tensor.dtype, sliced.tensor.shape, sources);
  }
}

std::string CheckpointParts::description() const {
  nlohmann::ordered_json bytes = nlohmann::ordered_json::array();
  for (std::size_t part = 0; part < parts_; ++part) bytes.push_back(fs::file_size(path(part)));
  const nlohmann::ordered_json out = {{"directory", fs::path(directory_).filename().string()},
                                      {"bytes", bytes}};
  return out.dump();
}

void CheckpointParts::discard() noexcept {
  try {
    std::error_code ignored;
    if (ranks_.rank == 0) fs::remove_all(directory_, ignored);
  } catch (...) {  // out of memory: the next run removes the directory
  }
}

std::vector<std::string> PartList::paths(const std::string& master) const {
  std::vector<std::string> out;
  for (std::size_t part = 0; part < bytes.size(); ++part)
    out.push_back(
        (fs::path(master).parent_path() / directory / fmt::format("part-{:03}.h5", part)).string());
  return out;
}

PartList parse_parts(const std::string& description) {
  if (description.empty()) return {};
  const auto json = nlohmann::json::parse(description, nullptr, false);
  PartList parts;
  std::string ignored;
  try {
    parts = {json.at("directory").get<std::string>(),
             json.at("bytes").get<std::vector<std::int64_t>>()};
  } catch (const nlohmann::json::exception&) {
  }
  if (!is_parts_directory(parts.directory, ignored) || parts.bytes.empty())
    throw Error(fmt::format("the checkpoint's list of parts is damaged: {}", description), {},
                "Use another checkpoint");
  return parts;
}

void check_parts(const std::string& master, const PartList& parts) {
  const std::vector<std::string> paths = parts.paths(master);
  for (std::size_t part = 0; part < paths.size(); ++part) {
    struct stat status {};
    if (::stat(paths[part].c_str(), &status) != 0)
      throw Error(fmt::format("cannot open {}, a part of {}", paths[part], master),
                  std::strerror(errno), "Keep a checkpoint and its directory of parts together");
    if (status.st_size != parts.bytes[part])
      throw Error(
          fmt::format("{}, a part of {}, is damaged", paths[part], master),
          fmt::format("it has {} bytes, {} were written", status.st_size, parts.bytes[part]),
          "Use another checkpoint");
  }
}

bool is_parts_directory(const std::string& name, std::string& master) {
  const std::size_t at = name.find(infix);
  if (at == name.npos || name.find('/') != name.npos) return false;
  const std::string_view rest = std::string_view(name).substr(at + infix.size());
  master = name.substr(0, at);
  return master.ends_with(".h5") && is_number_of_name(rest);
}

std::optional<std::string> parts_directory_of(const std::string& master) {
  try {
    check_seal(master);
    const hdf5::File file(master, hdf5::File::Mode::read);
    if (!file.has_attribute("/", "parts")) return "";
    const PartList parts = parse_parts(file.string_attribute("/", "parts"));
    return (fs::path(master).parent_path() / parts.directory).string();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace triax
