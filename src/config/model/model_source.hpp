#pragma once
// Where a model's keys come from, a config.json or the job's own section, in the forms that Hugging
// Face has had for them.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// An architecture by Hugging Face's names.
struct Family {
  Architecture architecture;
  const char* name;
  const char* classes[2];
};
/// The family of that name; null: not known.
const Family* family_of(const std::string& name);

/// One source of model keys.
struct ModelSource {
  nlohmann::json root;
  OriginOf text_origin;  // of a key as it was written
  bool strict = false;   // keys that are not known are errors; else they are noted
  /// Where keys were written that normalise() put elsewhere.
  std::map<std::string, std::string> written_as;

  Origin origin_of(const std::string& path) const;
};

/// The text of a config.json; `file` names it in errors.
ModelSource file_source(const std::string& text, const std::string& file, ErrorList& errors);

/// Puts what only seems unusual into its usual form: rope_parameters, Hugging Face 5's, become
/// rope_theta and rope_scaling, whose "type" becomes "rope_type" or goes where it repeats that.
void normalise(ModelSource& source);

/// The family that the source names; null where it names none. Names that contradict each other or
/// are unknown are errors.
const Family* named_family(const ModelSource& source, ErrorList& errors);
/// Where it names it.
Origin origin_of_family(const ModelSource& source);

/// Where a key of the model that no source says would stand: in its section where one has that,
/// else in the config.json, or in the job's own section where there is none.
Origin place_of_unsaid(const std::vector<ModelSource>& sources, const std::string& path);

/// One warning that names the keys of a config.json that the table has not, but for those that say
/// nothing of the model, and the key that each may have been meant to be. One that seems to be a
/// key of the model's shape, which nothing says, is an error.
void judge_unknown_keys(Settings& settings, ErrorList& errors);

/// A config.json says what makes the model's size, or a source over it does: transformers' defaults
/// are those of one model of many. (It writes these keys into every file.)
void require_shape(Settings& settings, const std::vector<ModelSource>& sources, ErrorList& errors);

}  // namespace triax
