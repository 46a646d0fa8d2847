// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/say.hpp"

#include <cstdio>

namespace triax {

void say_text(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace triax
