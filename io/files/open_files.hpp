#pragma once

namespace triax {

/// Lets this process open as many files as the system allows it: the soft limit (ulimit -Sn),
/// 1024 nearly everywhere, becomes the hard one. A checkpoint in hundreds of files needs it.
void allow_more_open_files() noexcept;

}  // namespace triax
