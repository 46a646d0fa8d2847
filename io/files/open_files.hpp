// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace triax {

/// Raises the soft limit on open files (ulimit -Sn, 1024 nearly everywhere) to the hard limit. A
/// checkpoint in hundreds of part files needs it.
void allow_more_open_files() noexcept;

}  // namespace triax
