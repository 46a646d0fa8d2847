#pragma once
// triax generate: a text that the model of a checkpoint continues.
#include "src/comm/launch/mpi_session.hpp"

namespace CLI {
class App;
}

namespace triax {

/// Adds the command `generate`, which rank 0 obeys alone. `session` outlives the app.
void add_generate(CLI::App& app, const MpiSession& session);

}  // namespace triax
