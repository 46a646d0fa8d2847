// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/keys/rope_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace triax {
namespace {
using nlohmann::json;

const std::string section = "model.rope_scaling.";
const std::string original = section + "original_max_position_embeddings";
const std::string longest = "model.max_position_embeddings";
const std::string local_theta = "model.rope_local_base_freq";

// Calls visit(member) with the member of `scaling` that holds the value of `key`.
template <class Scaling, class Visit>
void visit_value(Scaling& scaling, const RopeKey& key, Visit visit) {
  std::visit([&](auto member) { visit(scaling.*member); }, key.member);
}

// Stores the value of a key that is left out; false if there is none.
bool take_missing(Settings& s, const RopeKind& kind, const RopeUse& use, ErrorList& errors) {
  const std::string path = section + use.key->name;
  switch (use.missing) {
    case Missing::number:
      if (std::holds_alternative<bool RopeScaling::*>(use.key->member))
        s.resolve(path, use.number != 0.0, "default");
      else
        s.resolve(path, use.number, "default");
      return true;
    case Missing::positions:
      if (!s.sound({longest})) return false;
      s.resolve(path, s.at(longest).value, "default");
      s.warn(path, fmt::format("missing: set to {} {}, as Hugging Face does", longest,
                               s.integer(longest)));
      return true;
    case Missing::ratio:
      if (!s.sound({longest, original})) return false;
      if (s.at(original).source == "default") break;  // it is max_position_embeddings
      s.resolve(path, s.number(longest) / s.number(original), "default");
      return true;
    case Missing::computed:
      return false;
    case Missing::refused:
      break;
  }
  s.error(
      errors, path,
      fmt::format("missing. The rope_type \"{}\" needs it{}", kind.name,
                  use.missing == Missing::ratio ? ", or original_max_position_embeddings" : ""));
  return false;
}

void take_key(Settings& s, const RopeKind& kind, const RopeUse& use, RopeScaling& scaling,
              ErrorList& errors) {
  const std::string path = section + use.key->name;
  if (!s.sound({path})) return;
  if (!s.has(path) && !take_missing(s, kind, use, errors)) return;
  visit_value(scaling, *use.key, [&]<class T>(T& value) {
    if constexpr (std::is_same_v<T, std::int64_t>)
      value = s.integer(path);
    else
      value = s.at(path).value.get<T>();
  });
}

bool is_sound(const Settings& s, const std::string& path) {
  return s.sound({path, longest, "model.rope_theta", "model.head_dim", "model.hidden_size",
                  "model.num_attention_heads"});
}

// Checks that every list has a number per pair.
void check_lists(Settings& s, const RopeKind& kind, const RopeShape& shape,
                 const RopeScaling& scaling, ErrorList& errors) {
  const std::int64_t pairs = shape.head_size / 2;
  for (const RopeUse& use : kind.uses) {
    const auto* const member = std::get_if<std::vector<double> RopeScaling::*>(&use.key->member);
    if (member == nullptr) continue;
    const std::string path = section + use.key->name;
    const std::int64_t given = std::ssize(scaling.**member);
    if (given == pairs || !is_sound(s, path)) continue;
    s.error(errors, path,
            fmt::format("{} numbers, but a head of {} dimensions has {} pairs", given,
                        shape.head_size, pairs));
  }
}

// Warns of an original context and a factor that contradict the longest context.
void check_context(Settings& s, const RopeKind& kind, const RopeScaling& scaling) {
  if (scaling.original_positions == 0 || !s.sound({original, longest})) return;
  const std::int64_t positions = s.integer(longest);
  if (scaling.original_positions > positions)
    s.warn(original, fmt::format("{} is more than {} {}, the context that it is stretched to",
                                 scaling.original_positions, longest, positions));
  const std::string path = section + "factor";
  const double ratio =
      static_cast<double>(positions) / static_cast<double>(scaling.original_positions);
  const bool optional = std::ranges::any_of(kind.uses, [](const RopeUse& use) {
    return use.key->name == std::string("factor") && use.missing != Missing::refused;
  });
  if (optional && s.has(path) && ratio != 1.0 && scaling.factor != ratio)
    s.warn(path, fmt::format("{} is used, as by Hugging Face 5, although {} / {} is {}; some older "
                             "versions use the latter",
                             scaling.factor, longest, original, ratio));
}

// Checks the keys of a kind against each other and the shape.
void check_kind(Settings& s, const RopeKind& kind, const RopeShape& shape,
                const RopeScaling& scaling, ErrorList& errors) {
  for (const RopeUse& use : kind.uses)
    if (!is_sound(s, section + use.key->name)) return;
  const auto problem = kind.problem == nullptr ? std::nullopt : kind.problem(scaling, shape);
  if (problem) return s.error(errors, section + problem->key, problem->text);
  const RopeAngles angles = kind.angles(scaling, shape);
  const auto sane = [](double value) { return std::isfinite(value) && value > 0.0; };
  if (!sane(angles.factor) || !std::ranges::all_of(angles.frequencies, sane))
    s.error(errors, section + "rope_type",
            fmt::format("\"{}\" gives no finite frequencies with these keys and rope_theta {:g}",
                        kind.name, shape.theta));
}

RopeScaling read_rope_scaling(Settings& s, const RopeShape& shape, ErrorList& errors) {
  RopeScaling scaling;
  scaling.type = s.string(section + "rope_type");
  const RopeKind& kind = rope_kind(scaling.type);
  for (const RopeKey* key : rope_keys()) {
    const std::string path = section + key->name;
    if (s.has(path) && std::ranges::find(kind.uses, key, &RopeUse::key) == kind.uses.end())
      s.warn(path, "has no effect with the rope_type \"" + scaling.type + "\"");
  }
  for (const RopeUse& use : kind.uses) take_key(s, kind, use, scaling, errors);
  check_lists(s, kind, shape, scaling, errors);
  check_context(s, kind, scaling);
  check_kind(s, kind, shape, scaling, errors);
  return scaling;
}

// Rotated dimensions of a head; 0: all.
int read_rotary_size(Settings& s, const ModelConfig& m, ErrorList& errors) {
  const std::string path = "model.partial_rotary_factor";
  if (!s.has(path) || s.number(path) == 1.0) return 0;
  const int size = static_cast<int>(m.head_size * s.number(path));
  if ((size < 2 || size % 2 != 0) && is_sound(s, path))
    s.error(errors, path,
            fmt::format("{} of a head of {} dimensions are {}, which are not pairs", s.number(path),
                        m.head_size, size));
  return std::max(2, size / 2 * 2);
}

}  // namespace

void read_rope_section(Settings& s, ModelConfig& m, ErrorList& errors) {
  m.rope_theta = s.number("model.rope_theta");
  m.rotary_size = read_rotary_size(s, m, errors);
  m.rope_scaling = read_rope_scaling(s, rope_shape(m, m.positions), errors);
}

void write_rope_scaling(const RopeScaling& scaling, nlohmann::ordered_json& root) {
  const RopeKind& kind = rope_kind(scaling.type);
  auto& keys = root["rope_scaling"] = nullptr;
  if (kind.uses.size() == 0) return;
  keys["rope_type"] = kind.name;
  for (const RopeUse& use : kind.uses)
    visit_value(scaling, *use.key, [&]<class T>(const T& value) {
      const bool as_missing = use.missing == Missing::computed || use.missing == Missing::number;
      if constexpr (!std::is_same_v<T, std::vector<double>>)
        if (as_missing && static_cast<double>(value) == use.number) return;
      keys[use.key->name] = value;
    });
  if (kind.original_outside) root["original_max_position_embeddings"] = scaling.original_positions;
}

void read_local_theta(Settings& s, ModelConfig& m) {
  if (m.window == 0) return;
  const double local = s.has(local_theta) ? s.number(local_theta) : m.rope_theta;
  if (local != m.rope_theta || m.rope_scaling != RopeScaling{}) m.local_rope_theta = local;
}

void write_local_rope(const ModelConfig& m, nlohmann::ordered_json& root) {
  const double local = m.local_rope_theta > 0.0 ? m.local_rope_theta : m.rope_theta;
  root["rope_local_base_freq"] = local;
  nlohmann::ordered_json full = root["rope_scaling"];
  if (full.is_null()) full["rope_type"] = "default";
  full["rope_theta"] = m.rope_theta;
  auto& parameters = root["rope_parameters"];
  parameters["full_attention"] = full;
  parameters["sliding_attention"] = {{"rope_type", "default"}, {"rope_theta", local}};
}

double rotary_share(const ModelConfig& m) {
  if (m.rotary_size == 0) return 1.0;
  double share = static_cast<double>(m.rotary_size) / m.head_size;
  // Readers round the product down, as read_rotary_size does.
  while (static_cast<int>(m.head_size * share) < m.rotary_size) share = std::nextafter(share, 1.0);
  return share;
}

}  // namespace triax
