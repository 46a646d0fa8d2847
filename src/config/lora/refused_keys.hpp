// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys of PEFT that change what is computed or trained, and that triax does not have.
#include <nlohmann/json.hpp>
#include <vector>

#include "src/config/lora/lora.hpp"

namespace triax {

/// Adds a problem for each such key of `keys` that says anything: not null, false or empty. A key
/// that is not known has no effect, unless it chooses a variant of LoRA (*_config).
void refuse_not_built(const nlohmann::json& keys, std::vector<LoraProblem>& problems);

}  // namespace triax
