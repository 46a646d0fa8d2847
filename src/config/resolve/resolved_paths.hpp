// SPDX-License-Identifier: Apache-2.0
#pragma once
// Paths of a resolved job.
#include <string>

namespace triax {

/// The text of a resolved job with all paths absolute, so that it means the same in every working
/// directory.
std::string with_absolute_paths(const std::string& job);

}  // namespace triax
