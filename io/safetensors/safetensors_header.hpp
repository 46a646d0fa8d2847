// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses and checks the header of one .safetensors file. Internal to io/.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "kernels/base/dtype.hpp"

namespace triax {

/// One tensor of the header. Types and ranks that triax does not support are kept as they are.
struct SafetensorsInfo {
  std::string type;            // "F32", "BF16", "I8", ...
  std::optional<DType> dtype;  // none where no DType names it
  std::vector<std::int64_t> shape;
  std::size_t begin = 0, end = 0;  // bytes in the file
};

/// The format's name of a type, such as "BF16".
std::string safetensors_type(DType dtype);

/// The tensors by name. Error unless the header's length, JSON and entries are sound: every tensor
/// lies inside the file, its bytes equal shape x type, and the tensors cover the data without gap
/// or overlap.
std::map<std::string, SafetensorsInfo> read_safetensors_header(const MappedFile& file);

}  // namespace triax
