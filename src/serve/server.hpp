// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax serve`: from a model's files to a server, until it is stopped.
#include <functional>
#include <string>

#include "src/checkpoint/checkpoint.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/serve/start/serve_settings.hpp"

namespace triax {

struct ServeArguments {
  std::string model;      // a checkpoint or a directory
  std::string tokenizer;  // empty: the model's
  SavedWeights weights{};
  ServeSettings settings;
};

enum class ServeEnd : std::uint8_t {
  signalled,    // SIGTERM, SIGUSR1 or SIGHUP: to be run again
  interrupted,  // by the user at the keyboard
};

/// Serves from rank 0 until a signal to it ends it and open answers have ended, or serve.grace is
/// over; all ranks compute. `ready` is called when the model is loaded: from then on rank 0 reads
/// signals here, which must be held (hold_signals). Collective; all ranks return the same. Error
/// where the engine fails, after all open replies have been ended.
ServeEnd serve(ProcessGrid& grid, const ServeArguments& arguments,
               const std::function<void()>& ready);

}  // namespace triax
