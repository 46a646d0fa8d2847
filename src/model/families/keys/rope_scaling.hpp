// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys of rotary positions: rope_theta, and rope_scaling for contexts longer than the model was
// trained on.
#include <nlohmann/json.hpp>
#include <vector>

#include "src/config/keys/settings.hpp"
#include "src/config/rope_kinds.hpp"

namespace triax {

/// Rows of the keys, without scope.
std::vector<Key> rope_section_keys(double theta);
/// Row of partial_rotary_factor, for architectures that have it.
Key partial_rotary_key(double value);

/// Reads the keys into rope_theta, rope_scaling and, if the family has partial_rotary_factor,
/// rotary_size. Requires head_size and positions of `model`.
void read_rope_section(Settings& settings, ModelConfig& model, ErrorList& errors);

/// Row of rope_local_base_freq, the base of blocks with a window; null: rope_theta.
Key local_theta_key(nlohmann::json value);
/// Reads it. After the windows, and after read_rope_section.
void read_local_theta(Settings& settings, ModelConfig& model);
/// Writes it, and both kinds of rotary positions in Hugging Face 5's form. After
/// write_rope_scaling.
void write_local_rope(const ModelConfig& model, nlohmann::ordered_json& root);
/// Value of partial_rotary_factor.
double rotary_share(const ModelConfig& model);

/// `root` with the keys of `scaling` in Hugging Face's older form, which all its versions read.
void write_rope_scaling(const RopeScaling& scaling, nlohmann::ordered_json& root);

}  // namespace triax
