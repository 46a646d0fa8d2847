// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bits in which the frozen linear maps of a model stay in memory: model.quantize.
#include <string>

namespace triax {

struct KeptBits {
  std::string format = {};  // "nf4", "nf4-double" or "int8"; empty: the run's type
  int element_bytes = 4;    // size of the run's type, whose elements hold the bits in a bucket
  explicit operator bool() const { return !format.empty(); }
  bool operator==(const KeptBits&) const = default;
};

}  // namespace triax
