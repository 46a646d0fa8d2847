#pragma once
// Rotary positions for texts longer than a model was trained on: model.rope_scaling.
#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// Of a llama or qwen2, whose max_position_embeddings the settings have.
RopeScaling read_rope_scaling(Settings& settings, ErrorList& errors);

}  // namespace triax
