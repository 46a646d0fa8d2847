#pragma once
#include "kernels/isa/isa.hpp"

namespace triax::test {

/// Has the kernels use one kind of code while it lives.
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
