// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax checkpoint average and analyze: the weights of checkpoints as data.
#include "src/comm/launch/mpi_session.hpp"

namespace CLI {
class App;
}

namespace triax {

/// Adds both to the command `checkpoint`.
void add_weights_commands(CLI::App& checkpoint, const MpiSession& session);

}  // namespace triax
