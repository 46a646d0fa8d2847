#pragma once
// Messages that only this process moves on: while it waits for one, it moves them all.
#include <algorithm>
#include <vector>

#include "kernels/base/wait.hpp"

namespace triax {

/// Something that has messages under way.
class MovesMessages {
 public:
  virtual ~MovesMessages() = default;
  /// Does what can be done now; false where that is nothing. Never waits.
  virtual bool advance() = 0;
};

/// All of them of a process. A rank that waits for a message of one group must move on those of the
/// others: ranks of another group may wait for it there.
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

/// A wait for what `progress` (null: nothing) moves, or for what others do: call pause() between
/// two looks at what is awaited.
class PatientProgress {
 public:
  PatientProgress(MessageProgress* progress, WaitPolicy policy)
      : progress_(progress), policy_(policy), patience_(policy) {}
  /// False where nothing was moved.
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
