// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handling of SIGHUP, which a terminal sends as it closes.

namespace triax {

/// As it was when the process began: what nohup ignores stays ignored. UCX, which MPI libraries
/// load, makes it a request for debugging as it is loaded.
void restore_hangup();

}  // namespace triax
