// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary positions for contexts longer than the model was trained on: model.rope_scaling.
#include <nlohmann/json.hpp>

#include "src/config/keys/settings.hpp"
#include "src/config/rope_kinds.hpp"

namespace triax {

/// RopeScaling of a model of `shape`. Requires max_position_embeddings in the settings.
RopeScaling read_rope_scaling(Settings& settings, const RopeShape& shape, ErrorList& errors);

/// `root` with the keys of `scaling` in Hugging Face's older form, which all its versions read.
void write_rope_scaling(const RopeScaling& scaling, nlohmann::ordered_json& root);

}  // namespace triax
