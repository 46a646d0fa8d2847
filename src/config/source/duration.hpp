// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations as a job file writes them.
#include <optional>
#include <string_view>

namespace triax {

/// Seconds of "90", "30s", "10m", "2h", "1d" and sums of them, largest unit first ("1h30m"). A
/// number may have a fraction ("0.5s"). nullopt if the text has another form.
std::optional<double> parse_duration(std::string_view text);

}  // namespace triax
