// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of the table of family.hpp, each defined in a file of its name.
#include "src/model/families/families.hpp"

namespace triax::families {

extern const Family gpt2, llama, qwen2;

}  // namespace triax::families
