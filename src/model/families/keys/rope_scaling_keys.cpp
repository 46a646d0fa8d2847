// SPDX-License-Identifier: Apache-2.0
// Rows of the key table for rotary positions, from the table of their kinds.
#include <fmt/format.h>

#include <utility>

#include "src/config/keys/key.hpp"
#include "src/model/families/keys/rope_scaling.hpp"

namespace triax {
namespace {
using enum KeyType;

// Meaning of rope_type: that of each kind.
std::string meaning_of_rope_type() {
  std::string text = "kind of the rotary positions";
  const char* separator = ": ";
  for (const RopeKind& kind : rope_kinds()) {
    text += fmt::format("{}{} ({})", separator, kind.name, kind.meaning);
    separator = ", ";
  }
  return text + "; older name: type";
}

// Value that a kind uses if a key is left out.
std::string text_of_default(const RopeUse& use) {
  switch (use.missing) {
    case Missing::number:
      if (std::holds_alternative<bool RopeScaling::*>(use.key->member))
        return use.number != 0.0 ? "true" : "false";
      return fmt::format("{}", use.number);
    case Missing::positions:
      return "max_position_embeddings";
    case Missing::ratio:
      return "max_position_embeddings / original_max_position_embeddings";
    case Missing::computed:
    case Missing::refused:
      break;
  }
  return "none";
}

// Meaning of a key of rope_scaling, with the kinds that need it and the default of the others.
std::string meaning_of(const RopeKey& key) {
  std::string needed, defaults;
  for (const RopeKind& kind : rope_kinds())
    for (const RopeUse& use : kind.uses) {
      if (use.key != &key) continue;
      if (use.missing == Missing::refused)
        needed += (needed.empty() ? "; needed by " : ", ") + std::string(kind.name);
      else
        defaults += fmt::format("; default of {}: {}", kind.name, text_of_default(use));
    }
  return key.meaning + needed + defaults;
}

Key key_of(const RopeKey& key) {
  struct {
    KeyType operator()(double RopeScaling::*) { return number; }
    KeyType operator()(std::int64_t RopeScaling::*) { return integer; }
    KeyType operator()(bool RopeScaling::*) { return boolean; }
    KeyType operator()(std::vector<double> RopeScaling::*) { return numbers; }
  } type_of;
  const KeyType type = std::visit(type_of, key.member);
  Allowed allowed = key.bound == RopeBound::above_0  ? above(0)
                    : key.bound == RopeBound::from_0 ? at_least(0)
                                                     : at_least(1);
  if (type == boolean) allowed = anything();
  if (type == integer) allowed.most = 1e9;
  return obeyed(std::string("model.rope_scaling.") + key.name, type, nullptr, allowed,
                meaning_of(key))
      .in(key.unit);
}

}  // namespace

Key partial_rotary_key(double value) {
  Allowed share = from_to(0, 1);
  share.open_least = true;
  return obeyed("model.partial_rotary_factor", number, value, share,
                "share of each head with rotary positions");
}

Key local_theta_key(nlohmann::json value) {
  return obeyed("model.rope_local_base_freq", number, std::move(value), above(0),
                "base of the rotary positions of blocks with a window; left out by some "
                "architectures: rope_theta");
}

std::vector<Key> rope_section_keys(double theta) {
  std::vector<Key> k;
  k.push_back(obeyed("model.rope_theta", number, theta, above(0), "base of the rotary positions"));
  const std::string in = "model.rope_scaling.";
  std::vector<std::string> names;
  for (const RopeKind& kind : rope_kinds()) names.emplace_back(kind.name);
  k.push_back(obeyed(in + "rope_type", string, names.front(), one_of(names), meaning_of_rope_type())
                  .without({"proportional"}));
  for (const RopeKey* key : rope_keys()) k.push_back(key_of(*key));
  k.push_back(
      accepted(in + "finetuned", boolean, nullptr, "how the published weights were trained"));
  for (const auto* name : {"full_attention", "sliding_attention"})
    k.push_back(refused(in + name, object, nullptr, "rotary positions of some of the layers",
                        "all layers of this architecture have the same"));
  k.push_back(refused(in + "mrope_section", list, nullptr, "rotary positions of images",
                      "triax has text positions only"));
  k.push_back(obeyed("model.original_max_position_embeddings", integer, nullptr, from_to(1, 1e9),
                     "rope_scaling.original_max_position_embeddings, which it overrides")
                  .in("tokens"));
  k.push_back(obeyed("model.rope_parameters", object, nullptr, anything(),
                     "Hugging Face 5's rope_scaling, with rope_theta in it"));
  return k;
}

}  // namespace triax
