#include "src/comm/nccl_progress.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace triax {

void check_nccl(ncclResult_t result, const char* call, const std::string& where) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw DeviceMessagesFailed(
      fmt::format("{} failed on {}", call, where),
      fmt::format("{}: {}", ncclGetErrorString(result), ncclGetLastError(nullptr)),
      "NCCL_DEBUG=INFO says more; with run.device cpu the job needs no NCCL");
}

std::size_t NcclProgress::take() {
  const auto free = std::find_if(calls_.begin(), calls_.end(),
                                 [](const Call& call) { return call.waited && !call.noted; });
  const auto index = static_cast<std::size_t>(free - calls_.begin());
  if (free == calls_.end()) calls_.emplace_back();
  calls_[index].order = begun_++;
  calls_[index].waited = false;
  return index;
}

void NcclProgress::note() {
  for (Call& call : calls_)
    if (call.noted && call.end.done()) {
      call.board->finish(call.message);
      call.noted = false;
    }
}

const NcclProgress::Call* NcclProgress::oldest() const {
  const Call* first = nullptr;
  for (const Call& call : calls_)
    if (call.noted && (first == nullptr || call.order < first->order)) first = &call;
  return first;
}

void NcclProgress::check_comms() {
  for (const Known& known : comms_) {
    ncclResult_t error = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(known.comm, &error), "ncclCommGetAsyncError", known.where);
    if (error == ncclSuccess || error == ncclInProgress) continue;
    // Its kernels spin until they are aborted, and memory cannot be freed before.
    const std::string where = known.where;
    for (const Known& each : std::exchange(comms_, {})) ncclCommAbort(each.comm);
    try {
      check_nccl(error, "a message of NCCL", where);
    } catch (const DeviceMessagesFailed& failed) {
      failure_ = failed.what();
      throw;
    }
  }
}

bool NcclProgress::advance() {
  note();
  check_comms();
  return false;
}

// Destroying waits for the other ranks, who do not come while one of them fails: its process ends.
void NcclProgress::end(ncclComm_t comm) {
  const auto known = std::ranges::find(comms_, comm, &Known::comm);
  if (comm == nullptr || known == comms_.end()) return;  // none, or aborted
  comms_.erase(known);
  if (std::uncaught_exceptions() == 0) ncclCommDestroy(comm);
}

// The board sees who is waited for, so that the watchdog ends a wait that lasts too long.
void NcclProgress::drain(const Event& event) {
  note();
  const Call* const call = oldest();
  const auto done = [&] {
    check_comms();
    return event.done();
  };
  wait_for_device(done, policy_, board_, &messages_,
                  call != nullptr ? call->message : ProgressBoard::of_device());
  note();
}

}  // namespace triax
