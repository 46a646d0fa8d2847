#pragma once
#include "kernels/base/check.hpp"

namespace triax::cuda {

/// Ends a call of a kernel that the device has no body of.
[[noreturn]] inline void absent(const char* kernel) {
  throw Error(fmt::format("{} on a GPU", kernel), "this build of triax has no such kernel",
              "Run on the processor");
}

}  // namespace triax::cuda
