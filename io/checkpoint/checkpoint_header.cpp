// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_header.hpp"

#include <string_view>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t newest_format = 2;
// Attributes that are absent where empty: the loss scale of a run without fp16, the parts of a
// single file, the adapters of a whole model.
bool optional(std::string_view name) {
  return name == "loss_scale" || name == "parts" || name == "adapter";
}

struct Writer {
  hdf5::File& file;
  void operator()(const char* name, std::int64_t value) { file.write_attribute("/", name, value); }
  void operator()(const char* name, const std::string& value) {
    if (!value.empty() || !optional(name)) file.write_attribute("/", name, value);
  }
};

struct Reader {
  const hdf5::File& file;
  void operator()(const char* name, std::int64_t& value) {
    value = file.integer_attribute("/", name);
  }
  void operator()(const char* name, std::string& value) {
    if (!optional(name) || file.has_attribute("/", name)) value = file.string_attribute("/", name);
  }
};

}  // namespace

void write_header(hdf5::File& file, const CheckpointHeader& header) {
  for_each_attribute(header, Writer{file});
}

CheckpointHeader read_header(const hdf5::File& file, const std::string& path) {
  if (!file.has_attribute("/", "format_version") || !file.exists("/model"))
    throw Error(path + " is not a triax checkpoint",
                "an HDF5 file without the attribute format_version or the group /model",
                "Give a file that triax wrote");
  const std::int64_t format = file.integer_attribute("/", "format_version");
  if (format > newest_format)
    throw Error(fmt::format("{} is a checkpoint of format version {}", path, format),
                fmt::format("this triax reads up to version {}", newest_format),
                "Use a newer triax");
  CheckpointHeader header;
  for_each_attribute(header, Reader{file});
  return header;
}

}  // namespace triax
