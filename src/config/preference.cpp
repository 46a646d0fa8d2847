// SPDX-License-Identifier: Apache-2.0
#include "src/config/preference.hpp"

#include <algorithm>
#include <array>

namespace triax {
namespace {

constexpr std::array rows = {
    PreferenceLoss{.name = "dpo",
                   .meaning = "direct preference optimization (Rafailov et al. 2023)",
                   .reference = true,
                   .mean = false,
                   .odds = false,
                   .beta = BetaUse::slope,
                   .margin = false,
                   .smoothing = true},
    PreferenceLoss{.name = "orpo",
                   .meaning = "odds ratio preference optimization (Hong et al. 2024)",
                   .reference = false,
                   .mean = true,
                   .odds = true,
                   .beta = BetaUse::weight,
                   .margin = false,
                   .smoothing = false},
    PreferenceLoss{.name = "simpo",
                   .meaning = "simple preference optimization (Meng et al. 2024)",
                   .reference = false,
                   .mean = true,
                   .odds = false,
                   .beta = BetaUse::slope,
                   .margin = true,
                   .smoothing = true},
};

}  // namespace

std::span<const PreferenceLoss> preference_losses() {
  return rows;
}

const PreferenceLoss* find_preference_loss(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(rows, [&](const PreferenceLoss& row) { return name == row.name; });
  return found == rows.end() ? nullptr : found;
}

const PreferenceLoss* preference_loss(const Config& config) {
  return find_preference_loss(config.loss.type);
}

bool needs_reference(const Config& config) {
  const PreferenceLoss* loss = preference_loss(config);
  return loss != nullptr && loss->reference;
}

}  // namespace triax
