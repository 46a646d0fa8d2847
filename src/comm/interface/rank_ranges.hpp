// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of a set of ranks.
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace triax {

/// "rank 3", "ranks 0-3, 8": ranges of consecutive ranks, at most `most` of them and then "...".
std::string ranks_text(std::vector<int> ranks,
                       std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace triax
