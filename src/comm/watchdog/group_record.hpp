// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the messages of a group of ranks are noted.
#include "kernels/base/mpi/message_progress.hpp"
#include "src/comm/interface/message_clock.hpp"
#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

/// Any pointer may be null: nothing is recorded there.
struct GroupRecord {
  ProgressBoard* board = nullptr;       // notes each message of this rank
  int group = 0;                        // number of the group on that board
  MessageProgress* progress = nullptr;  // advanced by the group's waits
  MessageClock* clock = nullptr;        // measures message times
};

}  // namespace triax
