// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors/safetensors_header.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "io/hub/lfs_pointer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const MappedFile& file, const std::string& why) {
  throw Error(file.path() + " is not a whole safetensors file", why, "Fetch or export it again");
}

// The format's type names, with bytes per element.
const std::map<std::string, std::size_t, std::less<>>& widths() {
  static const std::map<std::string, std::size_t, std::less<>> table = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  return table;
}

constexpr std::pair<DType, const char*> type_names[] = {
    {DType::f64, "F64"}, {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},
    {DType::i64, "I64"}, {DType::i32, "I32"}, {DType::u16, "U16"},   {DType::u8, "U8"}};

std::optional<DType> dtype_of_name(const std::string& name) {
  for (const auto& [dtype, known] : type_names)
    if (name == known) return dtype;
  return {};
}

// Bytes of a tensor of this shape and type; nothing where the type is unknown. Overflow saturates.
std::optional<std::size_t> bytes_of(const SafetensorsInfo& info) {
  const auto width = widths().find(info.type);
  if (width == widths().end()) return {};
  std::size_t bytes = width->second;
  for (const std::int64_t size : info.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) bytes = SIZE_MAX;
  return bytes;
}

SafetensorsInfo parse_entry(const MappedFile& file, const std::string& name, const Json& entry,
                            std::size_t data_begin) {
  SafetensorsInfo info;
  try {
    info.type = entry.at("dtype").get<std::string>();
    for (const Json& size : entry.at("shape")) {
      if (!size.is_number_unsigned())
        fail(file, "a size of tensor " + name + " is not a whole number");
      info.shape.push_back(size.get<std::int64_t>());
    }
    const Json& offsets = entry.at("data_offsets");
    const bool sound = offsets.is_array() && offsets.size() == 2 &&
                       offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned();
    if (!sound) fail(file, "data_offsets of tensor " + name + " are not two whole numbers");
    info.begin = offsets[0].get<std::size_t>();
    info.end = offsets[1].get<std::size_t>();
  } catch (const Json::exception& error) {
    fail(file, fmt::format("tensor {}: {}", name, error.what()));
  }
  info.dtype = dtype_of_name(info.type);
  const std::size_t room = file.size() - data_begin;
  if (info.begin > info.end || info.end > room)
    fail(file,
         fmt::format("tensor {} lies at bytes [{}, {}) of {} bytes of data: the file is truncated",
                     name, info.begin, info.end, room));
  const auto bytes = bytes_of(info);
  if (bytes && *bytes != info.end - info.begin)
    fail(file, fmt::format("tensor {} has {} bytes, its shape and type {} make {}", name,
                           info.end - info.begin, info.type, *bytes));
  info.begin += data_begin;
  info.end += data_begin;
  return info;
}

void check_coverage(const MappedFile& file, const std::map<std::string, SafetensorsInfo>& tensors,
                    std::size_t data_begin) {
  std::vector<std::tuple<std::size_t, std::size_t, const std::string*>> ranges;
  for (const auto& [name, info] : tensors) ranges.emplace_back(info.begin, info.end, &name);
  std::ranges::sort(ranges);
  std::size_t next = data_begin;
  for (const auto& [begin, end, name] : ranges) {
    if (begin != next)
      fail(file,
           fmt::format("tensor {} starts at byte {} of the data, the one before it ends at {}",
                       *name, begin - data_begin, next - data_begin));
    next = end;
  }
  if (next != file.size())
    fail(file, fmt::format("its tensors end at byte {}, the file at {}", next, file.size()));
}

}  // namespace

std::string safetensors_type(DType dtype) {
  for (const auto& [known, name] : type_names)
    if (known == dtype) return name;
  check(false, "{} has no name in safetensors", name_of(dtype));
  return {};
}

std::map<std::string, SafetensorsInfo> read_safetensors_header(const MappedFile& file) {
  constexpr std::size_t length_bytes = 8;
  constexpr std::size_t max_header = 100'000'000;  // the format's own limit
  refuse_lfs_pointer(file);
  if (file.size() < length_bytes)
    fail(file,
         fmt::format("{} bytes, the header's length alone has {}", file.size(), length_bytes));
  const auto length = load<std::uint64_t>(file.data());
  if (length > max_header || length > file.size() - length_bytes)
    fail(file, fmt::format("its header claims {} bytes, the file has {}", length, file.size()));
  const auto* const text = reinterpret_cast<const char*>(file.data() + length_bytes);
  const Json header = Json::parse(text, text + length, nullptr, false);
  if (!header.is_object()) fail(file, "its header is not a JSON object");
  std::map<std::string, SafetensorsInfo> tensors;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__")
      tensors.emplace(name, parse_entry(file, name, entry, length_bytes + length));
  check_coverage(file, tensors, length_bytes + length);
  return tensors;
}

}  // namespace triax
