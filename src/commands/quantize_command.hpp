// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax checkpoint quantize: a model directory with its linear maps in 4 or 8 bits.
#include "src/comm/launch/mpi_session.hpp"

namespace CLI {
class App;
}

namespace triax {

/// Adds `quantize` below the command `checkpoint`. `session` outlives the app.
void add_quantize(CLI::App& checkpoint, const MpiSession& session);

}  // namespace triax
