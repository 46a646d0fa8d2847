// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/base/check.hpp"

namespace triax::cuda {

/// Reports a call of a kernel that has no device body in this build.
[[noreturn]] inline void absent(const char* kernel) {
  throw Error(fmt::format("{} cannot run on a GPU", kernel),
              "this build of triax has no such kernel", "Set run.device to cpu");
}

}  // namespace triax::cuda
