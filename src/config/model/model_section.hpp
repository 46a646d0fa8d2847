// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model section: a config.json, inline keys on top, and what follows from both.
#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// Fills the model.* settings from tree.root["model"] and the config.json it names. If the section
/// has errors, they go to `errors` and the result is ModelConfig().
ModelConfig read_model(Settings& settings, const JobTree& tree, ErrorList& errors);

}  // namespace triax
