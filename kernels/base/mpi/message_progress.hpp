// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of messages that only this process can advance: waiting for one advances all.
#include <algorithm>
#include <vector>

#include "kernels/base/wait.hpp"

namespace triax {

/// An object with messages under way.
class MovesMessages {
 public:
  virtual ~MovesMessages() = default;
  /// Does all work that is possible now; returns false if there was none. Never waits.
  virtual bool advance() = 0;
};

/// All message movers of a process. A rank that waits in one group must also advance its other
/// groups: their ranks may be waiting for it.
class MessageProgress {
 public:
  void add(MovesMessages& moves) { all_.push_back(&moves); }
  void remove(MovesMessages& moves) { std::erase(all_, &moves); }
  bool advance() {
    bool moved = false;
    for (MovesMessages* const moves : all_) moved |= moves->advance();
    return moved;
  }

 private:
  std::vector<MovesMessages*> all_;
};

/// Wait loop helper: call pause() between two checks of the awaited condition. It advances
/// `progress` (null: nothing), and pauses by `policy` when nothing moved.
class PatientProgress {
 public:
  PatientProgress(MessageProgress* progress, WaitPolicy policy)
      : progress_(progress), policy_(policy), patience_(policy) {}
  /// False if nothing was advanced.
  bool pause() {
    if (progress_ != nullptr && progress_->advance()) {
      patience_ = Patience(policy_);
      return true;
    }
    patience_.pause();
    return false;
  }

 private:
  MessageProgress* progress_;
  WaitPolicy policy_;
  Patience patience_;
};

}  // namespace triax
