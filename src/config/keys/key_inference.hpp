// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of the section `inference`.
#include <vector>

#include "src/config/keys/key.hpp"

namespace triax {

/// How triax generate computes many texts at once.
std::vector<Key> inference_keys();

}  // namespace triax
