// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sources of model keys (a config.json, the job's own section) in the forms that Hugging Face has
// used over time.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/config/keys/settings.hpp"
#include "src/model/families/families.hpp"

namespace triax {

/// One source of model keys.
struct ModelSource {
  nlohmann::json root;
  OriginOf text_origin;  // origin of a key as it was written
  bool strict = false;   // unknown keys are errors; else they are noted
  /// Written path of each key that normalise() moved.
  std::map<std::string, std::string> written_as;

  Origin origin_of(const std::string& path) const;
};

/// A source from the text of a config.json; `file` names it in errors.
ModelSource file_source(const std::string& text, const std::string& file, ErrorList& errors);

/// Converts Hugging Face 5's rope_parameters to rope_theta, partial_rotary_factor and rope_scaling.
/// In rope_scaling, "type" becomes "rope_type", or is dropped if it repeats that. An original
/// context beside rope_scaling moves into it.
void normalise(ModelSource& source);
/// Replaces the family's older names of keys and its own names of kinds of rotary positions, and
/// takes apart rotary positions that depend on the block. After normalise().
void adapt(ModelSource& source, const Family& family);

/// The family that the source names; null if it names none. Unknown names and names that contradict
/// each other are errors.
const Family* named_family(const ModelSource& source, ErrorList& errors);
/// Origin of the key that names the family.
Origin origin_of_family(const ModelSource& source);

/// Origin for a model key that no source sets: the last source's section that should hold it, else
/// the config.json, else the job's own section.
Origin place_of_unsaid(const std::vector<ModelSource>& sources, const std::string& path);

/// Warns once of the config.json keys that are not in the table and may matter, each with the key
/// it may have been meant to be. An unknown key of rope_scaling, and one that resembles a missing
/// key of the model's shape, is an error.
void judge_unknown_keys(Settings& settings, ErrorList& errors);

/// Requires the four sizes that every config.json holds, from it or from a source that overrides
/// it: transformers' defaults are the sizes of one particular model.
void require_shape(Settings& settings, const std::vector<ModelSource>& sources, ErrorList& errors);

}  // namespace triax
