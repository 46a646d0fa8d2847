#include "io/checkpoint_blocks.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "io/block_file.hpp"
#include "io/checksum.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t page = BlockFile::alignment;

std::int64_t pages_of(const FileRange& range) {
  const std::int64_t first = range.offset / page;
  return (range.offset + range.bytes + page - 1) / page - first;
}

/// Finds the data of a checkpoint's tensors, in its file or in its parts.
class Finder {
 public:
  Finder(const CheckpointReader& reader, std::vector<std::string>& files)
      : reader_(reader), files_(files) {}

  std::vector<DataExtent> extents(const CheckpointTensor& tensor) {
    const std::int64_t elements = tensor.shape.elements();
    if (elements == 0) return {};
    const hdf5::File& file = reader_.file();
    if (const auto offset = file.plain_offset(tensor.name))
      return {{number_of(reader_.path()), 0, elements, *offset}};
    const std::int64_t row = tensor.shape.rank() == 0 ? 1 : elements / tensor.shape[0];
    std::vector<DataExtent> out;
    for (const hdf5::VirtualSource& source : file.virtual_sources(tensor.name)) {
      const std::int64_t count = (source.end - source.begin) * row;
      const std::string path =
          (std::filesystem::path(reader_.path()).parent_path() / source.file).string();
      const hdf5::File* const part = part_of(path);
      const bool same = part != nullptr && part->exists(tensor.name) &&
                        part->dtype(tensor.name) == tensor.dtype &&
                        part->shape(tensor.name).elements() == count;
      const auto offset = same ? part->plain_offset(tensor.name) : std::nullopt;
      if (!offset) return {};
      out.push_back({number_of(path), source.begin * row, source.end * row, *offset});
    }
    return out;
  }

 private:
  std::size_t number_of(const std::string& path) {
    const auto found = std::ranges::find(files_, path);
    if (found == files_.end()) files_.push_back(path);
    return static_cast<std::size_t>(std::ranges::find(files_, path) - files_.begin());
  }
  // Null where the library has it open already, in a way that it does not let others open it.
  const hdf5::File* part_of(const std::string& path) {
    const auto [found, is_new] = parts_.try_emplace(path);
    for (const auto mode : {hdf5::File::Mode::read, hdf5::File::Mode::read_source})
      if (is_new && !found->second) try {
          found->second.emplace(path, mode);
        } catch (const Error&) {
        }
    return found->second ? &*found->second : nullptr;
  }
  const CheckpointReader& reader_;
  std::vector<std::string>& files_;
  std::map<std::string, std::optional<hdf5::File>> parts_;
};

}  // namespace

CheckpointBlocks::CheckpointBlocks(const CheckpointReader& reader, const Ranks& ranks) {
  agreed(ranks, [&] {
    if (ranks.rank == 0) find_out(reader);
  });
  if (ranks.size > 1) {
    const std::string all = broadcast_text(ranks, ranks.rank == 0 ? packed() : std::string());
    if (ranks.rank != 0) unpack(all);
  }
  number();
}

void CheckpointBlocks::find_out(const CheckpointReader& reader) {
  tensors_ = reader.tensors();
  has_checksums_ = reader.has_checksums();
  elements_ = has_checksums_ ? reader.checksum_block() : integrity_block;
  if (has_checksums_) reader.check_tensors(tensors_);
  Finder finder(reader, files_);
  for (const CheckpointTensor& tensor : tensors_) {
    Place& place = places_.emplace_back();
    place.extents = finder.extents(tensor);
    if (has_checksums_) place.sums = reader.checksums(tensor, elements_);
  }
}

std::string CheckpointBlocks::packed() const {
  nlohmann::json tensors = nlohmann::json::array();
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    std::vector<std::int64_t> shape;
    for (int d = 0; d < tensors_[t].shape.rank(); ++d) shape.push_back(tensors_[t].shape[d]);
    std::vector<std::int64_t> extents;
    for (const auto& [file, first, end, offset] : places_[t].extents)
      extents.insert(extents.end(), {static_cast<std::int64_t>(file), first, end, offset});
    tensors.push_back(
        {tensors_[t].name, static_cast<int>(tensors_[t].dtype), shape, extents, places_[t].sums});
  }
  const std::vector<std::uint8_t> bytes =
      nlohmann::json::to_cbor({has_checksums_, elements_, files_, tensors});
  return {bytes.begin(), bytes.end()};
}

void CheckpointBlocks::unpack(const std::string& text) {
  const nlohmann::json all = nlohmann::json::from_cbor(text);
  has_checksums_ = all[0].get<bool>();
  elements_ = all[1].get<std::int64_t>();
  files_ = all[2].get<std::vector<std::string>>();
  for (const nlohmann::json& one : all[3]) {
    CheckpointTensor& tensor = tensors_.emplace_back();
    tensor.name = one[0].get<std::string>();
    tensor.dtype = static_cast<DType>(one[1].get<int>());
    for (const nlohmann::json& extent : one[2]) tensor.shape.push_back(extent.get<std::int64_t>());
    Place& place = places_.emplace_back();
    const auto extents = one[3].get<std::vector<std::int64_t>>();
    for (std::size_t i = 0; i < extents.size(); i += 4)
      place.extents.push_back(
          {static_cast<std::size_t>(extents[i]), extents[i + 1], extents[i + 2], extents[i + 3]});
    place.sums = one[4].get<std::vector<std::uint64_t>>();
  }
}

void CheckpointBlocks::number() {
  std::int64_t first = 0;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    places_[t].first = first;
    first += integrity_blocks(tensors_[t].shape.elements(), elements_);
    by_name_[tensors_[t].name] = t;
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

std::int64_t CheckpointBlocks::footprint(std::int64_t block) const {
  std::int64_t pages = 0;
  for (const FileRange& range : ranges(block)) pages += pages_of(range);
  return std::max(pages * page, (bytes(block) + page - 1) / page * page);
}

std::int64_t CheckpointBlocks::data_offset(std::int64_t block) const {
  const std::vector<FileRange> all = ranges(block);
  const auto width = static_cast<std::int64_t>(size_of(tensors_[at(block).tensor].dtype));
  return all.size() == 1 && all.front().offset % width == 0 ? all.front().offset % page : 0;
}

bool CheckpointBlocks::matches(std::int64_t block, const Tensor& data) const {
  if (!has_checksums_) return true;
  const TensorPiece piece = at(block);
  return checksum_of(checksum_seed(tensors_[piece.tensor].name), piece.begin, data) ==
         places_[piece.tensor].sums[static_cast<std::size_t>(piece.number)];
}

std::string CheckpointBlocks::text(std::int64_t block) const {
  const TensorPiece piece = at(block);
  const auto width = static_cast<std::int64_t>(size_of(tensors_[piece.tensor].dtype));
  return fmt::format("{} block {}, bytes {} to {}", tensors_[piece.tensor].name, piece.number,
                     piece.begin * width, piece.end * width);
}

}  // namespace triax
