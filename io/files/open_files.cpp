// SPDX-License-Identifier: Apache-2.0
#include "io/files/open_files.hpp"

#include <sys/resource.h>

namespace triax {

void allow_more_open_files() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace triax
