// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/checkpoint_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "io/direct/block_file.hpp"
#include "io/files/checksum.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t page = BlockFile::alignment;

std::int64_t pages_of(const FileRange& range) {
  const std::int64_t first = range.offset / page;
  return (range.offset + range.bytes + page - 1) / page - first;
}

/// Finds the data of a checkpoint's tensors, in its file or in its part files.
class Finder {
 public:
  Finder(const CheckpointReader& reader, std::vector<std::string>& files)
      : reader_(reader), files_(files) {}

  /// For each tensor its extents in order; none where only HDF5 can read it.
  std::vector<std::vector<DataExtent>> find(const std::vector<CheckpointTensor>& tensors) {
    found_.resize(tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t)
      if (tensors[t].shape.elements() > 0) find_one(tensors[t], t);
    for (const auto& [path, shares] : shares_) find_in(path, shares, tensors);
    for (std::vector<DataExtent>& extents : found_)
      std::ranges::sort(extents, {}, &DataExtent::first);
    for (const std::size_t t : lost_) found_[t].clear();
    return std::move(found_);
  }

 private:
  // Elements [first, end) of a tensor in one part file.
  struct Share {
    std::size_t tensor;
    std::int64_t first, end;
  };

  void find_one(const CheckpointTensor& tensor, std::size_t number) {
    const std::int64_t elements = tensor.shape.elements();
    if (const auto plain = reader_.file().plain_data(tensor.name)) {
      found_[number] = {{number_of(reader_.path()), 0, elements, plain->offset}};
      return;
    }
    const std::int64_t row = tensor.shape.rank() == 0 ? 1 : elements / tensor.shape[0];
    const auto folder = std::filesystem::path(reader_.real_path()).parent_path();
    for (const hdf5::VirtualSource& source : reader_.file().virtual_sources(tensor.name))
      shares_[(folder / source.file).string()].push_back(
          {number, source.begin * row, source.end * row});
  }

  // Opens one part file after another: there may be more than a process may open.
  void find_in(const std::string& path, const std::vector<Share>& shares,
               const std::vector<CheckpointTensor>& tensors) {
    const std::optional<hdf5::File> part = opened(path);
    const std::size_t file = number_of(path);
    for (const auto& [t, first, end] : shares) {
      const CheckpointTensor& tensor = tensors[t];
      const auto plain = part ? part->plain_data(tensor.name) : std::nullopt;
      if (plain && plain->dtype == tensor.dtype && plain->elements == end - first)
        found_[t].push_back({file, first, end, plain->offset});
      else
        lost_.push_back(t);
    }
  }

  std::size_t number_of(const std::string& path) {
    const auto found = std::ranges::find(files_, path);
    const auto number = static_cast<std::size_t>(found - files_.begin());
    if (found == files_.end()) files_.push_back(path);
    return number;
  }

  static std::optional<hdf5::File> opened(const std::string& path) {
    try {
      return std::optional<hdf5::File>(std::in_place, path, hdf5::File::Mode::read);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  const CheckpointReader& reader_;
  std::vector<std::string>& files_;
  std::vector<std::vector<DataExtent>> found_;
  std::map<std::string, std::vector<Share>> shares_;  // by path of the part file
  std::vector<std::size_t> lost_;                     // tensors that only HDF5 can read
};

}  // namespace

CheckpointBlocks::CheckpointBlocks(const CheckpointReader& reader, const Ranks& ranks) {
  agreed(ranks, [&] {
    tensors_ = reader.tensors();
    has_checksums_ = reader.has_checksums();
    if (ranks.rank == 0) find_out(reader);
  });
  if (ranks.size > 1) {
    const std::string all = broadcast_text(ranks, ranks.rank == 0 ? packed() : std::string());
    if (ranks.rank != 0) unpack(all);
  }
  number();
}

void CheckpointBlocks::find_out(const CheckpointReader& reader) {
  elements_ = has_checksums_ ? reader.checksum_block() : integrity_block;
  if (has_checksums_) reader.check_tensors();
  for (std::vector<DataExtent>& extents : Finder(reader, files_).find(tensors_))
    places_.push_back({0, std::move(extents), {}});
  if (!has_checksums_) return;
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    places_[t].sums = reader.checksums(tensors_[t], elements_);
}

std::string CheckpointBlocks::packed() const {
  nlohmann::json places = nlohmann::json::array();
  for (const Place& place : places_) {
    std::vector<std::int64_t> extents;
    for (const auto& [file, first, end, offset] : place.extents)
      extents.insert(extents.end(), {static_cast<std::int64_t>(file), first, end, offset});
    places.push_back({extents, place.sums});
  }
  const std::vector<std::uint8_t> bytes =
      nlohmann::json::to_cbor({elements_, files_, std::move(places)});
  return {bytes.begin(), bytes.end()};
}

void CheckpointBlocks::unpack(const std::string& text) {
  const nlohmann::json all = nlohmann::json::from_cbor(text);
  elements_ = all[0].get<std::int64_t>();
  files_ = all[1].get<std::vector<std::string>>();
  for (const nlohmann::json& one : all[2]) {
    Place& place = places_.emplace_back();
    const auto extents = one[0].get<std::vector<std::int64_t>>();
    for (std::size_t i = 0; i < extents.size(); i += 4)
      place.extents.push_back(
          {static_cast<std::size_t>(extents[i]), extents[i + 1], extents[i + 2], extents[i + 3]});
    place.sums = one[1].get<std::vector<std::uint64_t>>();
  }
}

void CheckpointBlocks::number() {
  std::int64_t first = 0;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    places_[t].first = first;
    first += integrity_blocks(tensors_[t].shape.elements(), elements_);
    by_name_[tensors_[t].name] = t;
  }
  for (std::int64_t block = 0; block < first; ++block) {
    std::int64_t pages = 0;
    for (const FileRange& range : ranges(block)) pages += pages_of(range);
    footprints_.push_back(std::max(pages * page, (bytes(block) + page - 1) / page * page));
  }
}

std::size_t CheckpointBlocks::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  check(found != by_name_.end(), "the checkpoint has no {}", name);
  return found->second;
}

TensorPiece CheckpointBlocks::at(std::int64_t block) const {
  const auto next = std::ranges::upper_bound(places_, block, {}, &Place::first);
  const auto tensor = static_cast<std::size_t>(next - places_.begin()) - 1;
  const std::int64_t number = block - places_[tensor].first;
  return {tensor, number, number * elements_,
          std::min(tensors_[tensor].shape.elements(), (number + 1) * elements_)};
}

std::int64_t CheckpointBlocks::bytes(std::int64_t block) const {
  const TensorPiece piece = at(block);
  return (piece.end - piece.begin) *
         static_cast<std::int64_t>(size_of(tensors_[piece.tensor].dtype));
}

std::vector<FileRange> CheckpointBlocks::ranges(std::int64_t block) const {
  const TensorPiece piece = at(block);
  const auto width = static_cast<std::int64_t>(size_of(tensors_[piece.tensor].dtype));
  std::vector<FileRange> out;
  for (const auto& [file, first, end, offset] : places_[piece.tensor].extents) {
    const std::int64_t from = std::max(first, piece.begin);
    const std::int64_t to = std::min(end, piece.end);
    if (from < to) out.push_back({file, offset + (from - first) * width, (to - from) * width});
  }
  return out;
}

std::int64_t CheckpointBlocks::data_offset(std::int64_t block) const {
  const std::vector<FileRange> all = ranges(block);
  const auto width = static_cast<std::int64_t>(size_of(tensors_[at(block).tensor].dtype));
  return all.size() == 1 && all.front().offset % width == 0 ? all.front().offset % page : 0;
}

bool CheckpointBlocks::matches(std::int64_t block, const Tensor& data, std::byte* copy) const {
  const TensorPiece piece = at(block);
  if (copy == data.data()) copy = nullptr;
  if (!has_checksums_) {
    if (copy != nullptr) std::memcpy(copy, data.data(), static_cast<std::size_t>(data.bytes()));
    return true;
  }
  const std::uint64_t seed = checksum_seed(tensors_[piece.tensor].name);
  return checksum_of(seed, piece.begin, data, copy) ==
         places_[piece.tensor].sums[static_cast<std::size_t>(piece.number)];
}

std::string CheckpointBlocks::text(std::int64_t block) const {
  const TensorPiece piece = at(block);
  const auto width = static_cast<std::int64_t>(size_of(tensors_[piece.tensor].dtype));
  return fmt::format("{} block {}, bytes {} to {}", tensors_[piece.tensor].name, piece.number,
                     piece.begin * width, piece.end * width);
}

}  // namespace triax
