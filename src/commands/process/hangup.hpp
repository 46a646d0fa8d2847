// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handling of SIGHUP, which a terminal sends as it closes.

namespace triax {

/// Restores the handling from the start of the process: under nohup it stays ignored. UCX, which
/// MPI libraries load, installs a debugging handler for it.
void restore_hangup();

}  // namespace triax
