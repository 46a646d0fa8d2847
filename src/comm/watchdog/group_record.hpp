#pragma once
// Where the messages of a group of ranks are noted.
#include "kernels/base/mpi/message_progress.hpp"
#include "src/comm/interface/message_clock.hpp"
#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

/// Any may be null: nobody is told then.
struct GroupRecord {
  ProgressBoard* board = nullptr;       // what the rank is at,
  int group = 0;                        // as messages of this group there
  MessageProgress* progress = nullptr;  // what the group's waits move on too
  MessageClock* clock = nullptr;        // how long messages take
};

}  // namespace triax
