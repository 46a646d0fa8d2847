// SPDX-License-Identifier: Apache-2.0
#include "src/launch/own_checkpoints.hpp"

#include <filesystem>

#include "src/config/source/absolute_path.hpp"

namespace triax {

bool writes_checkpoints(const CheckpointConfig& checkpoint) {
  return checkpoint.at_end || checkpoint.interval > 0;
}

bool owns_checkpoints(const Config& config) {
  // Compared without resolving the last component: a link in run.directory belongs to the run,
  // whatever it points to.
  const std::filesystem::path checkpoints(absolute_path(config.checkpoint.directory));
  std::error_code absent;
  return writes_checkpoints(config.checkpoint) ||
         std::filesystem::equivalent(checkpoints.parent_path(), config.run.directory, absent);
}

}  // namespace triax
