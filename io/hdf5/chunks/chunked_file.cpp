// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/chunks/chunked_file.hpp"

#include <unistd.h>
#include <zlib.h>

#include <utility>

#include "io/files/durable.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

constexpr unsigned level = 1;  // recorded in the file; a reader needs no level

hid_t file_type(ChunkType type) {
  switch (type) {
    case ChunkType::u16:
      return H5T_STD_U16LE;
    case ChunkType::u32:
      return H5T_STD_U32LE;
    case ChunkType::i64:
      return H5T_STD_I64LE;
  }
  return H5I_INVALID_HID;
}

std::int64_t chunks_of(const ChunkedDataset& dataset) {
  return (dataset.elements + dataset.chunk - 1) / dataset.chunk;
}

// B-tree entries of the chunks, and headers.
std::int64_t structure_bytes(const std::vector<ChunkedDataset>& datasets) {
  constexpr std::int64_t header = std::int64_t{64} << 10;
  constexpr std::int64_t entry = 96;  // two B-tree keys and addresses, nodes half full
  std::int64_t bytes = header;
  for (const ChunkedDataset& dataset : datasets) bytes += entry * chunks_of(dataset);
  return bytes;
}

// Byte i of all elements, then byte i + 1 of all.
template <std::size_t width>
void shuffle(std::span<const std::byte> elements, std::size_t chunk, std::byte* out) {
  const std::size_t count = elements.size() / width;
  for (std::size_t byte = 0; byte < width; ++byte)
    for (std::size_t i = 0; i < count; ++i) out[byte * chunk + i] = elements[i * width + byte];
}

// A stream of zlib whose parts are compressed in different ways.
class Deflater {
 public:
  explicit Deflater(std::size_t bytes) {
    check(deflateInit(&stream_, level) == Z_OK, "zlib cannot start");
    constexpr std::size_t changes = 1024;  // blocks that end where the way changes
    out_.resize(deflateBound(&stream_, bytes) + changes);
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
    stream_.avail_out = static_cast<uInt>(out_.size());
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void add(std::span<std::byte> bytes, int level_of_part, int strategy) {
    check(deflateParams(&stream_, level_of_part, strategy) == Z_OK, "zlib takes no parameters");
    stream_.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    check(deflate(&stream_, Z_NO_FLUSH) == Z_OK && stream_.avail_in == 0, "zlib has no room");
  }
  std::vector<std::byte> finish() {
    check(deflate(&stream_, Z_FINISH) == Z_STREAM_END, "zlib does not end");
    out_.resize(stream_.total_out);
    return std::move(out_);
  }

 private:
  z_stream stream_{};
  std::vector<std::byte> out_;
};

}  // namespace

std::size_t size_of(ChunkType type) {
  return type == ChunkType::u16 ? 2 : type == ChunkType::u32 ? 4 : 8;
}

std::vector<std::byte> compressed_chunk(std::span<const std::byte> elements,
                                        const ChunkedDataset& dataset) {
  const std::size_t width = size_of(dataset.type);
  const auto chunk = static_cast<std::size_t>(dataset.chunk);
  std::vector<std::byte> shuffled(chunk * width);
  const auto shuffles = width == 2 ? shuffle<2> : width == 4 ? shuffle<4> : shuffle<8>;
  shuffles(elements, chunk, shuffled.data());
  Deflater deflater(shuffled.size());
  for (std::size_t byte = 0; byte < width; ++byte) {
    const auto plane = std::span(shuffled).subspan(byte * chunk, chunk);
    // Token ids repeat too rarely for matches, and their lowest bytes are as good as random: half
    // the bytes are stored, and compression takes a fifth of the time of zlib's level 1.
    if (dataset.type == ChunkType::i64)
      deflater.add(plane, level, Z_DEFAULT_STRATEGY);
    else if (byte == 0)
      deflater.add(plane, Z_NO_COMPRESSION, Z_DEFAULT_STRATEGY);
    else
      deflater.add(plane, level, byte == 1 ? Z_HUFFMAN_ONLY : Z_RLE);
  }
  return deflater.finish();
}

struct ChunkedFile::Impl {
  std::string path;
  Handle file;
  std::vector<Handle> sets;
  std::vector<std::int64_t> chunk;  // elements

  void require(bool ok, const char* what) const {
    if (!ok)
      throw Error(fmt::format("cannot {} {}", what, path), last_error(),
                  "Check free space, quota and permissions of its directory");
  }

  void create(const ChunkedDataset& dataset) {
    const auto elements = static_cast<hsize_t>(dataset.elements);
    const auto each = static_cast<hsize_t>(dataset.chunk);
    const Handle space(H5Screate_simple(1, &elements, nullptr), H5Sclose);
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    // Without times, equal tokens make equal files.
    const bool ready = H5Pset_chunk(creation.id(), 1, &each) >= 0 &&
                       H5Pset_obj_track_times(creation.id(), false) >= 0 &&
                       H5Pset_shuffle(creation.id()) >= 0 &&
                       H5Pset_deflate(creation.id(), level) >= 0;
    require(space && ready, "prepare a dataset of");
    sets.emplace_back(H5Dcreate2(file.id(), dataset.name.c_str(), file_type(dataset.type),
                                 space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                      H5Dclose);
    require(static_cast<bool>(sets.back()), "create a dataset of");
    chunk.push_back(dataset.chunk);
  }

  void write_attribute(const std::string& name, hid_t type, const void* value) const {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle handle(
        H5Acreate2(file.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    require(handle && H5Awrite(handle.id(), type, value) >= 0, "write an attribute of");
  }
};

ChunkedFile::ChunkedFile(const std::string& path, const std::vector<ChunkedDataset>& datasets,
                         std::int64_t data_bytes)
    : impl_(std::make_unique<Impl>()) {
  const std::int64_t bytes = data_bytes + structure_bytes(datasets);
  require_room(directory_of(path), bytes);
  const auto lock = library_lock();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // failures are thrown, not printed
  impl_->path = path;
  impl_->file = Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  impl_->require(static_cast<bool>(impl_->file), "create");
  // HDF5 truncates a new file, and when it closes one cuts it to what it holds: space is reserved
  // in between.
  reserve_space(path, bytes);
  for (const ChunkedDataset& dataset : datasets) impl_->create(dataset);
}

ChunkedFile::~ChunkedFile() {
  if (!impl_->file) return;
  const auto lock = library_lock();
  // After an error: HDF5 needs room to close the file.
  if (::truncate(impl_->path.c_str(), 0) == 0) impl_->sets.clear();
  impl_->file.close();
}

void ChunkedFile::write_attribute(const std::string& name, const std::string& value) {
  const auto lock = library_lock();
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  // The terminator is included: HDF5 has no strings of length 0.
  impl_->require(
      H5Tset_size(type.id(), value.size() + 1) >= 0 && H5Tset_cset(type.id(), H5T_CSET_UTF8) >= 0,
      "prepare an attribute of");
  impl_->write_attribute(name, type.id(), value.c_str());
}

void ChunkedFile::write_attribute(const std::string& name, std::int64_t value) {
  const auto lock = library_lock();
  impl_->write_attribute(name, H5T_STD_I64LE, &value);
}

void ChunkedFile::write_chunk(std::size_t dataset, std::int64_t chunk,
                              std::span<const std::byte> data) {
  const auto lock = library_lock();
  const auto first = static_cast<hsize_t>(chunk * impl_->chunk[dataset]);
  constexpr std::uint32_t all_filters = 0;
  impl_->require(H5Dwrite_chunk(impl_->sets[dataset].id(), H5P_DEFAULT, all_filters, &first,
                                data.size(), data.data()) >= 0,
                 "write tokens into");
}

void ChunkedFile::close() {
  {
    const auto lock = library_lock();
    bool ok = true;
    for (Handle& set : impl_->sets) ok = set.close() && ok;
    impl_->require(ok && H5Fflush(impl_->file.id(), H5F_SCOPE_GLOBAL) >= 0 && impl_->file.close(),
                   "close");
  }
  sync_path(impl_->path);
}

}  // namespace triax::hdf5
