// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary positions for contexts longer than the model was trained on: model.rope_scaling.
#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// RopeScaling of a llama or qwen2 model. Requires max_position_embeddings in the settings.
RopeScaling read_rope_scaling(Settings& settings, ErrorList& errors);

}  // namespace triax
