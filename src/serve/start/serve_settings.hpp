// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of `triax serve`: those of the job file's section serve, and some of others.
#include <string>
#include <vector>

#include "src/inference/engine/engine_options.hpp"

namespace triax {

struct ServeSettings {
  std::string host;
  int port = 0;
  std::vector<std::string> names;  // empty: from the path of the model
  std::string api_keys;            // file; empty: none
  std::string directory;           // run.directory
  std::int64_t queue = 0, queue_tokens = 0, answers = 0, connections = 0, body_bytes = 0;
  double grace = 0, deadline = 0, stall = 0;  // seconds
  std::int64_t context = 0;                   // tokens; 0: what the model was trained on
  EngineOptions engine = {};                  // the section inference
  std::vector<std::string> grid;              // overrides of the section parallel, as given
};

/// Settings of "KEY=VALUE" overrides, with the defaults of the key table. UsageError for a key that
/// this command does not have, with the nearest one that it has, and for a wrong value.
ServeSettings serve_settings(const std::vector<std::string>& overrides);

}  // namespace triax
