// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kinds of rotary positions (config.json's rope_type): one row per kind. The keys of a job, their
// checks, exports and the tables of angles follow from the rows; nothing else names a kind.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// Smallest value of a number.
enum class RopeBound : std::uint8_t { above_0, from_0, from_1 };

/// A key of rope_scaling, and the member of RopeScaling that holds its value.
struct RopeKey {
  const char* name;
  std::variant<double RopeScaling::*, std::int64_t RopeScaling::*, bool RopeScaling::*,
               std::vector<double> RopeScaling::*>
      member;
  const char* meaning;
  const char* unit = "";
  RopeBound bound = RopeBound::above_0;
};

/// Treatment of a key that is left out.
enum class Missing : std::uint8_t {
  refused,    // an error
  number,     // RopeUse::number is used
  positions,  // max_position_embeddings is used
  ratio,      // max_position_embeddings / original_max_position_embeddings is used
  computed    // the value stays 0: the kind's formula does without
};

/// Use of a key by a kind.
struct RopeUse {
  const RopeKey* key;
  Missing missing = Missing::refused;
  double number = 0.0;
};

/// Values that frequencies depend on besides a kind's own keys.
struct RopeShape {
  double theta;
  std::int64_t head_size;  // rotated dimensions of a head
  std::int64_t positions;  // max_position_embeddings
  std::int64_t length;     // longest sequence of the run
};

struct RopeAngles {
  std::vector<double> frequencies;  // (head_size / 2) radians per position
  double factor = 1.0;              // multiplies every cosine and sine
  bool operator==(const RopeAngles&) const = default;
};

/// A problem with the value of a key, phrased to follow "<key>: ".
struct RopeProblem {
  const char* key;
  std::string text;
};

struct RopeKind {
  const char* name;
  const char* meaning;
  std::initializer_list<RopeUse> uses;
  RopeAngles (*angles)(const RopeScaling&, const RopeShape&);
  /// Checks keys against each other and the shape; null: nothing to check.
  std::optional<RopeProblem> (*problem)(const RopeScaling&, const RopeShape&) = nullptr;
  /// Effect of the sequence length; null: none.
  std::string (*effect_of_length)(const RopeScaling&, const RopeShape&) = nullptr;
  /// Sequences may be longer than max_position_embeddings.
  bool any_length = false;
  /// Versions 4 of Hugging Face read original_max_position_embeddings outside of rope_scaling.
  bool original_outside = false;
};

/// All kinds. The first is that of a model without rope_scaling.
std::span<const RopeKind> rope_kinds();
/// The kind of that name, which must exist.
const RopeKind& rope_kind(const std::string& name);
/// Keys of all kinds, each once.
std::vector<const RopeKey*> rope_keys();

/// Frequencies and factor for sequences of up to shape.length tokens.
RopeAngles rope_angles(const RopeScaling& scaling, const RopeShape& shape);
/// Frequencies and factor of a model's blocks without windows, for sequences of up to `length`
/// tokens.
RopeAngles rope_angles(const ModelConfig& model, std::int64_t length);
/// Shape of a model's rotary positions for sequences of up to `length` tokens.
RopeShape rope_shape(const ModelConfig& model, std::int64_t length);
/// Sentence on what `length` does to the model's rotary positions; "" if it does nothing.
std::string rope_effect_of_length(const ModelConfig& model, std::int64_t length);
/// Longest sequence that a model takes, in tokens.
std::int64_t longest_sequence(const ModelConfig& model);

}  // namespace triax
