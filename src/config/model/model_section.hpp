#pragma once
// The model section: a config.json, inline keys on top, and what follows from both.
#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// Fills the model.* settings from tree.root["model"] and the config.json that it names; errors to
/// `errors`. ModelConfig() where the section has errors.
ModelConfig read_model(Settings& settings, const JobTree& tree, ErrorList& errors);

}  // namespace triax
