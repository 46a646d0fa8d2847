#pragma once
// triax checkpoint ...: what looks into checkpoint files. Every command runs alike as one process
// and under mpiexec, where the ranks share out the reading.
#include "src/comm/launch/mpi_session.hpp"

namespace CLI {
class App;
}

namespace triax {

/// The exit status of `verify` where data are damaged, and of `diff` where files differ.
constexpr int found_status = 3;

/// Adds the command `checkpoint` with those below it. `status` becomes that of the one that ran.
/// `session` and `status` outlive the app.
void add_checkpoint(CLI::App& app, const MpiSession& session, int& status);

}  // namespace triax
