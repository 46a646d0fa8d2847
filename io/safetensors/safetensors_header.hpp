#pragma once
// The header of one .safetensors file, parsed and checked. Internal to io/.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "kernels/base/dtype.hpp"

namespace triax {

/// One tensor as the header tells it; types and ranks that triax does not use are carried as they
/// are.
struct SafetensorsInfo {
  std::string type;            // "F32", "BF16", "I8", ...
  std::optional<DType> dtype;  // where a DType names it
  std::vector<std::int64_t> shape;
  std::size_t begin = 0, end = 0;  // bytes in the file
};

/// The format's name of a type: "BF16".
std::string safetensors_type(DType dtype);

/// Error unless the header's length, JSON and entries are sound: every tensor inside the file,
/// shape x type equal to its bytes, and all of them together covering the data without gap or
/// overlap.
std::map<std::string, SafetensorsInfo> read_safetensors_header(const MappedFile& file);

}  // namespace triax
