// SPDX-License-Identifier: Apache-2.0
#pragma once
// events.jsonl: starts and ends of a run, its checkpoints and its memory, one JSON object per line.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace triax {

/// Name of the file in run.directory.
inline constexpr const char* events_file = "events.jsonl";

/// Appends a line {"event": kind, "time": "2026-11-29T12:00:00Z", ...fields}. Nobody needs the file
/// to go on, so a line that cannot be written is lost. A torn last line is ended first.
void append_event(const std::string& path, const std::string& kind,
                  const nlohmann::ordered_json& fields);

}  // namespace triax
