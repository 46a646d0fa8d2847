// SPDX-License-Identifier: Apache-2.0
#include "src/serve/start/serve_settings.hpp"

#include "src/inference/engine/option_keys.hpp"

namespace triax {

ServeSettings serve_settings(const std::vector<std::string>& overrides) {
  const CommandKeys keys("triax serve", {"serve.", "run.directory", engine_section}, overrides);
  ServeSettings settings;
  settings.host = keys.text("serve.host");
  settings.port = static_cast<int>(keys.integer("serve.port"));
  settings.names = keys.texts("serve.name");
  settings.api_keys = keys.text("serve.api_keys");
  settings.directory = keys.text("run.directory");
  settings.queue = keys.integer("serve.queue");
  settings.queue_tokens = keys.integer("serve.queue_tokens");
  settings.answers = keys.integer("serve.answers");
  settings.connections = keys.integer("serve.connections");
  settings.body_bytes = keys.integer("serve.body_bytes");
  settings.grace = keys.seconds("serve.grace");
  settings.deadline = keys.seconds("serve.deadline");
  settings.stall = keys.seconds("serve.stall");
  settings.context = keys.integer("serve.context");
  settings.engine = engine_options(keys);
  settings.grid = keys.grid();
  return settings;
}

}  // namespace triax
