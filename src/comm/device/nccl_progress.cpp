// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/nccl_progress.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace triax {

namespace {

DeviceMessagesFailed failure_of(ncclResult_t result, const char* call, const std::string& where) {
  return DeviceMessagesFailed(
      fmt::format("{} failed on {}", call, where),
      fmt::format("{}: {}", ncclGetErrorString(result), ncclGetLastError(nullptr)),
      "Set NCCL_DEBUG=INFO for details, or set run.device to cpu to run without NCCL");
}

}  // namespace

void check_nccl(ncclResult_t result, const char* call, const std::string& where) {
  if (result != ncclSuccess && result != ncclInProgress) throw failure_of(result, call, where);
}

std::size_t NcclProgress::take() {
  const auto free = std::find_if(calls_.begin(), calls_.end(),
                                 [](const Call& call) { return call.waited && !call.under_way; });
  const auto index = static_cast<std::size_t>(free - calls_.begin());
  if (free == calls_.end()) calls_.emplace_back();
  calls_[index].waited = false;
  return index;
}

void NcclProgress::begun(std::size_t call) {
  calls_[call].under_way = true;
  under_way_.push_back(call);
}

// Messages of one group complete in order, so each group is queried until its first incomplete
// message. This function is called within waits for MPI messages too: a failed GPU ends those as
// well.
void NcclProgress::note() {
  behind_.clear();
  const auto complete = [this](std::size_t index) {
    Call& call = calls_[index];
    const int group = call.message.group;
    if (std::ranges::find(behind_, group) != behind_.end()) return false;
    if (!call.end.done()) {
      behind_.push_back(group);
      return false;
    }
    call.board->finish(call.message);
    call.under_way = false;
    return true;
  };
  try {
    std::erase_if(under_way_, complete);
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void NcclProgress::fail(const std::string& why) {
  failure_ = why;
  throw DeviceMessagesFailed(failure_);
}

// Kernels spin until aborted, and memory cannot be freed before that. All communicators are aborted
// as one NCCL group: an abort waits for its own kernels, which may be queued behind those of a
// communicator not yet aborted.
void NcclProgress::abort_all() {
  const BoardWait aborting(board_,
                           ProgressBoard::of_device());  // lets the watchdog end a hanging abort
  ncclGroupStart();
  for (const Known& each : std::exchange(comms_, {})) ncclCommAbort(each.comm);
  ncclGroupEnd();
}

void NcclProgress::check_comms() {
  for (const Known& known : comms_) {
    ncclResult_t error = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(known.comm, &error), "ncclCommGetAsyncError", known.where);
    if (error == ncclSuccess || error == ncclInProgress) continue;
    const std::string why = failure_of(error, "a message of NCCL", known.where).what();
    abort_all();
    fail(why);
  }
}

bool NcclProgress::advance() {
  note();
  check_comms();
  return false;
}

// Destroying waits for the other ranks. During an exception they do not come, and the process ends
// anyway.
void NcclProgress::end(ncclComm_t comm) {
  const auto known = std::ranges::find(comms_, comm, &Known::comm);
  if (comm == nullptr || known == comms_.end()) return;  // none, or already aborted
  comms_.erase(known);
  if (std::uncaught_exceptions() == 0) ncclCommDestroy(comm);
}

// The board shows what is awaited, so that the watchdog ends a wait that lasts too long.
void NcclProgress::drain(const Event& event) {
  note();
  const auto awaited =
      under_way_.empty() ? ProgressBoard::of_device() : calls_[under_way_.front()].message;
  const auto done = [&] {
    check_comms();
    return event.done();
  };
  wait_for_device(done, policy_, board_, &messages_, awaited);
  note();
}

}  // namespace triax
