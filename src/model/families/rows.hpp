// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of the table of families.hpp, each defined in a file of its name or with its kin.
#include "src/model/families/families.hpp"

namespace triax::families {

extern const Family gpt2, llama, qwen2, qwen3, mistral, phi3, smollm3, gpt_neox, granite;
extern const Family olmo2, olmo3;         // olmo2.cpp
extern const Family gemma2, gemma3_text;  // gemma2.cpp

}  // namespace triax::families
