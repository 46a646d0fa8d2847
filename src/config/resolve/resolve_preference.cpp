// SPDX-License-Identifier: Apache-2.0
// Keys of preference losses: loss.type, which data.format must fit, and the numbers beside it.
#include <fmt/format.h>

#include <string>

#include "src/config/preference.hpp"
#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {

std::string names_of_losses() {
  std::string names;
  for (const PreferenceLoss& loss : preference_losses())
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", loss.name);
  return names;
}

void check_format(Settings& s, bool pairs, ErrorList& errors) {
  const std::string type = "loss.type", format = "data.format";
  if (!s.sound({type, format}) || (s.string(format) == "preference") == pairs) return;
  if (pairs)
    return s.error(errors, type,
                   fmt::format("\"{}\" compares a chosen and a rejected answer, and data.format is "
                               "\"{}\". Set data.format to \"preference\"",
                               s.string(type), s.string(format)));
  s.error(errors, format,
          fmt::format("\"preference\" has pairs of answers, which loss.type \"{}\" does not "
                      "compare. Set loss.type to one of {}",
                      s.string(type), names_of_losses()));
}

// Keys of data whose samples are one sequence.
void check_rows(Settings& s, ErrorList& errors) {
  const auto refused = [&](const char* key, const char* why) {
    if (s.sound({key})) s.error(errors, key, fmt::format("{}. Leave it out", why));
  };
  if (s.given("data.train_on") && s.string("data.train_on") != "assistant")
    refused("data.train_on", "the losses of pairs compare the answers alone");
  if (s.boolean("data.packing") || s.string("data.documents") == "mask")
    refused(s.boolean("data.packing") ? "data.packing" : "data.documents",
            "each answer of a pair has a row of its own");
  if (s.boolean("data.mask_end_token_loss"))
    refused("data.mask_end_token_loss", "a pair is compared with its end tokens");
}

}  // namespace

void check_preference(Settings& s, ErrorList& errors) {
  const std::string type = "loss.type", z = "loss.z_coefficient",
                    smoothing = "loss.label_smoothing";
  if (!s.sound({type})) return;
  const PreferenceLoss* const loss = find_preference_loss(s.string(type));
  check_format(s, loss != nullptr, errors);
  const auto unused = [&](const char* key) {
    if (s.given(key)) s.warn(key, fmt::format("has no effect on loss.type \"{}\"", s.string(type)));
  };
  if (loss == nullptr) unused("loss.beta");
  if (loss == nullptr || !loss->margin) unused("loss.simpo_gamma");
  if (s.sound({smoothing}) && s.number(smoothing) > 0.0 && (loss == nullptr || !loss->smoothing))
    s.error(errors, smoothing,
            fmt::format("loss.type \"{}\" has no label smoothing. Leave it out", s.string(type)));
  const std::string chosen = "loss.chosen_weight";
  if (s.sound({chosen}) && s.number(chosen) > 0.0 &&
      (loss == nullptr || loss->beta == BetaUse::weight))
    s.error(
        errors, chosen,
        fmt::format("loss.type \"{}\" is that cross-entropy, or has it with weight 1. Leave it out",
                    s.string(type)));
  if (loss != nullptr && loss->reference && !s.has("model.from"))
    s.warn(type, fmt::format("the reference is a model of random weights: \"{}\" compares with the "
                             "weights that training starts from. Set model.from",
                             s.string(type)));
  if (loss != nullptr && s.sound({z}) && s.number(z) > 0.0)
    s.error(errors, z,
            fmt::format("the z-loss belongs to the loss of the next token, and loss.type is "
                        "\"{}\". Leave it out",
                        s.string(type)));
  if (loss != nullptr) check_rows(s, errors);
}

}  // namespace triax
