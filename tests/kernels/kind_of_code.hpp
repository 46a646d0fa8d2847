// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/isa/isa.hpp"

namespace triax::test {

/// Makes the kernels use one ISA level for the lifetime of this object.
class KindOfCode {
 public:
  explicit KindOfCode(Isa isa) { use_isa(isa); }
  ~KindOfCode() { use_isa(before_); }
  KindOfCode(const KindOfCode&) = delete;
  KindOfCode& operator=(const KindOfCode&) = delete;

 private:
  Isa before_ = isa_in_use();
};

}  // namespace triax::test
