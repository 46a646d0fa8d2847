// SPDX-License-Identifier: Apache-2.0
#include "src/commands/failure.hpp"

#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/say.hpp"
#include "src/comm/device/device_messages.hpp"
#include "src/launch/offload_location.hpp"

namespace triax {
namespace {

void say_failure(const std::string& text) {
  say("triax: {}\n", text);
}

}  // namespace

int fail(MpiSession& session, const std::string& text, int status) {
  if (session.rank() == 0) say_failure(text);
  // All ranks meet a usage error, but of thousands some arrive late.
  const double patience = status == usage_failure ? 15.0 : 2.0;
  if (session.all_arrive(patience)) return status;
  if (session.rank() != 0) say_failure(text);
  session.abort(status);
}

// Called while the buffers of messages under way still exist and before communicators are freed,
// which would wait for the other ranks. The process ends without freeing memory if messages are
// under way or a GPU is in use: freeing GPU memory waits for the GPU, which may be in a message
// that no other rank joins. The offload files are removed here (without a trainer they may be
// another run's), then the lock.
int fail_run(MpiSession& session, const ProcessGrid& grid, const Config& config, bool has_trainer,
             std::optional<RunLock>& lock, const std::exception& error) {
  // Comes first: fail() on one rank ends the other ranks.
  if (has_trainer && grid.size() > 1) remove_own_offload(grid, config);
  if (dynamic_cast<const DeviceMessagesFailed*>(&error) != nullptr) {
    say_failure(error.what());
    session.abort(run_time_failure);
  }
  const int status = fail(session, failure_text(error), run_time_failure);
  if (grid.size() == 1) return status;
  if (grid.space() == MemorySpace::host && !session.any(grid.has_messages())) return status;
  lock.reset();
  (void)session.all_arrive();  // the first rank to abort ends the others
  session.abort(status);
}

}  // namespace triax
