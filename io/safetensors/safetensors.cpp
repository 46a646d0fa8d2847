// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors/safetensors.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "io/hub/hub_directory.hpp"
#include "io/hub/lfs_pointer.hpp"
#include "io/safetensors/safetensors_header.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The .safetensors file or index.json that `path` names or contains.
fs::path resolve(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  for (const char* name : {safetensors_single_name, safetensors_index_name}) {
    const fs::path file = fs::path(path) / name;
    refuse_dangling_link(file);
    if (fs::exists(file, ignored)) return file;
  }
  throw Error(
      path + " holds no weights",
      fmt::format("it has neither {} nor {}", safetensors_single_name, safetensors_index_name),
      "Give a Hugging Face model directory with safetensors weights");
}

// Maps each tensor name to the file name of its shard.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const MappedFile file(path.string());
  refuse_lfs_pointer(file);
  const auto* const text = reinterpret_cast<const char*>(file.data());
  const Json index = Json::parse(text, text + file.size(), nullptr, false);
  const auto damaged = [&](const std::string& why) {
    return Error(path.string() + " is not an index of safetensors shards", why, "Fetch it again");
  };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    throw damaged("it has no object \"weight_map\"");
  std::map<std::string, std::string> shards;
  for (const auto& [name, shard] : index["weight_map"].items()) {
    // A shard is a file beside the index, never somewhere else.
    if (!shard.is_string() ||
        fs::path(shard.get<std::string>()).filename() != shard.get<std::string>())
      throw damaged("the shard of tensor " + name + " is not a file name");
    shards.emplace(name, shard.get<std::string>());
  }
  if (shards.empty()) throw damaged("its weight_map is empty");
  return shards;
}

// Error with all shards that are not beside the index, or are links to nothing there.
void require_shards(const fs::path& index, const std::map<std::string, std::string>& shards) {
  std::set<std::string> all, missing;
  std::error_code ignored;
  for (const auto& [tensor, shard] : shards) {
    all.insert(shard);
    const fs::path file = index.parent_path() / shard;
    if (fs::exists(file, ignored)) continue;
    const std::string dangling = dangling_link(file);
    missing.insert(dangling.empty() ? shard : dangling);
  }
  if (!missing.empty())
    throw Error(fmt::format("{} of the {} shards of {} are missing", missing.size(), all.size(),
                            index.string()),
                fmt::format("{}", fmt::join(missing, ", ")), "Fetch the model again");
}

void convert(DType dtype, const std::byte* from, std::span<float> to) {
  const auto each = [&]<class T>(T) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<float>(load<T>(from + i * sizeof(T)));
  };
  switch (dtype) {
    case DType::f32:
      std::memcpy(to.data(), from, to.size_bytes());
      break;
    case DType::f64:
      each(double{});
      break;
    case DType::bf16:
      each(Bf16{});
      break;
    case DType::f16:
      each(F16{});
      break;
    default:
      check(false, "{} converted to f32", name_of(dtype));
  }
}

bool is_float(const std::optional<DType>& dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16 || dtype == DType::f16;
}

}  // namespace

std::vector<std::string> safetensors_files(const std::string& path) {
  const fs::path first = resolve(path);
  std::vector<std::string> files = {first.string()};
  if (first.extension() != ".json") return files;
  std::set<std::string> shards;  // each holds many tensors
  for (const auto& [tensor, shard] : read_index(first)) shards.insert(shard);
  for (const std::string& shard : shards) files.push_back((first.parent_path() / shard).string());
  return files;
}

struct SafetensorsReader::Impl {
  struct Located {
    const MappedFile* file;
    SafetensorsInfo info;
  };
  std::string path;
  std::map<std::string, MappedFile> files;
  std::map<std::string, Located> tensors;           // all tensors of the files
  std::map<std::string, SafetensorsEntry> entries;  // tensors that have a DType and fit a Shape

  const Located& located(const std::string& name) const {
    const auto found = tensors.find(name);
    if (found == tensors.end())
      throw Error(fmt::format("tensor {} is missing from {}", name, path), "",
                  "Check that the weights belong to this model");
    return found->second;
  }

  std::atomic<std::size_t> touched = 0;  // bytes mapped since the last drop

  // Drops the mapped pages in time: while mapped, they count as memory of this process.
  void touch(std::size_t bytes) {
    constexpr std::size_t around = std::size_t{64}
                                   << 10;  // Linux maps this much around a page fault
    if (touched.fetch_add(std::max(bytes, around)) + bytes < most_mapped / 2) return;
    touched = 0;
    for (const auto& [name, file] : files) file.drop();
  }
  void add(const std::string& name, const MappedFile& file, const SafetensorsInfo& info) {
    tensors.insert_or_assign(name, Located{&file, info});
    if (!info.dtype || info.shape.size() > Shape::max_rank) return;
    Shape shape;
    for (const std::int64_t size : info.shape) shape.push_back(size);
    entries.insert_or_assign(name, SafetensorsEntry{*info.dtype, shape});
  }
  void add_file(const fs::path& file);
  void add_shards(const fs::path& index);
};

void SafetensorsReader::Impl::add_file(const fs::path& file) {
  const MappedFile& mapped = files.emplace(file.string(), MappedFile(file.string())).first->second;
  for (const auto& [name, info] : read_safetensors_header(mapped)) add(name, mapped, info);
}

void SafetensorsReader::Impl::add_shards(const fs::path& index) {
  std::map<std::string, std::map<std::string, SafetensorsInfo>> headers;  // by shard
  const std::map<std::string, std::string> shards = read_index(index);
  require_shards(index, shards);
  for (const auto& [name, shard] : shards) {
    const std::string file = (index.parent_path() / shard).string();
    if (!headers.contains(shard)) {
      const MappedFile& mapped = files.emplace(file, MappedFile(file)).first->second;
      headers.emplace(shard, read_safetensors_header(mapped));
    }
    const auto found = headers[shard].find(name);
    if (found == headers[shard].end())
      throw Error(fmt::format("tensor {} is missing", name),
                  fmt::format("{} says that {} holds it", index.string(), shard),
                  "Fetch the shard again");
    add(name, files.at(file), found->second);
  }
}

SafetensorsReader::SafetensorsReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  const fs::path file = resolve(path);
  if (file.extension() == ".json")
    impl_->add_shards(file);
  else
    impl_->add_file(file);
}

SafetensorsReader::~SafetensorsReader() = default;
SafetensorsReader::SafetensorsReader(SafetensorsReader&&) noexcept = default;

const std::map<std::string, SafetensorsEntry>& SafetensorsReader::entries() const {
  return impl_->entries;
}

bool SafetensorsReader::contains(const std::string& name) const {
  return impl_->tensors.contains(name);
}

std::vector<std::string> SafetensorsReader::names() const {
  std::vector<std::string> all;
  for (const auto& [name, located] : impl_->tensors) all.push_back(name);
  return all;
}

SafetensorsStored SafetensorsReader::stored(const std::string& name) const {
  const SafetensorsInfo& info = impl_->located(name).info;
  return {info.type, info.shape, static_cast<std::int64_t>(info.end - info.begin)};
}

void SafetensorsReader::read_bytes(const std::string& name, std::int64_t begin, void* out,
                                   std::int64_t count) const {
  const auto& [file, info] = impl_->located(name);
  const auto first = static_cast<std::size_t>(begin), bytes = static_cast<std::size_t>(count);
  check(begin >= 0 && count >= 0 && first + bytes <= info.end - info.begin,
        "bytes [{}, {}) of {} with {}", begin, begin + count, name, info.end - info.begin);
  constexpr std::size_t at_once = most_mapped / 2;
  for (std::size_t done = 0; done < bytes; done += at_once) {
    const std::size_t now = std::min(at_once, bytes - done);
    std::memcpy(static_cast<std::byte*>(out) + done, file->data() + info.begin + first + done, now);
    impl_->touch(now);
  }
}

const SafetensorsEntry& SafetensorsReader::entry(const std::string& name) const {
  const Impl::Located& found = impl_->located(name);
  const SafetensorsInfo& info = found.info;
  const std::string& file = found.file->path();
  if (!is_float(info.dtype))
    throw Error(fmt::format("tensor {} of {} cannot be read as float32", name, file),
                fmt::format("its type is {}", info.type),
                "Export the weights as F32, F16, BF16 or F64");
  if (info.shape.size() > Shape::max_rank)
    throw Error(fmt::format("tensor {} of {} has {} dimensions", name, file, info.shape.size()),
                fmt::format("at most {} are supported", Shape::max_rank), "");
  return impl_->entries.at(name);
}

void SafetensorsReader::read(const std::string& name, std::int64_t begin, const Tensor& out) const {
  check(out.contiguous() && out.dtype() == DType::f32 && out.space() == MemorySpace::host,
        "tensor {} read into a tensor that is not contiguous f32 in host memory", name);
  const auto width = static_cast<std::int64_t>(size_of(entry(name).dtype));
  const auto& [file, info] = impl_->tensors.at(name);
  const std::int64_t size = static_cast<std::int64_t>(info.end - info.begin) / width;
  check(begin >= 0 && begin + out.elements() <= size, "elements [{}, {}) of {} with {}", begin,
        begin + out.elements(), name, size);
  const std::byte* const from = file->data() + info.begin + begin * width;
  const auto bytes = static_cast<std::size_t>(out.elements() * width);
  constexpr std::size_t at_once = most_mapped / 2;
  for (std::size_t done = 0; done < bytes; done += at_once) {
    const std::size_t now = std::min(at_once, bytes - done), w = static_cast<std::size_t>(width);
    convert(*info.dtype, from + done, {out.as<float>() + done / w, now / w});
    impl_->touch(now);
  }
}

}  // namespace triax
