// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures how much message time is hidden behind other work.
#include <chrono>

#include "kernels/base/scope.hpp"

namespace triax {

struct MessageTimes {
  /// Seconds with at least one message under way, from its start until this rank saw it complete.
  double under_way = 0.0;
  /// Seconds of `under_way` that the rank spent in calls that start, test or wait for messages
  /// (copying, summing, waiting), and so did no other work.
  double spent = 0.0;

  MessageTimes& operator+=(const MessageTimes& other) {
    under_way += other.under_way;
    spent += other.spent;
    return *this;
  }
};

/// Message times of one axis, over all its groups. For a single thread.
class MessageClock {
 public:
  void begins() {
    if (messages_++ == 0) first_ = Clock::now();
  }
  void ends() {
    if (--messages_ == 0) times_.under_way += since(first_);
  }

  /// The rank works on messages between enter() and leave(). Nested calls count once.
  void enter() {
    if (calls_++ == 0) entered_ = Clock::now();
  }
  void leave() {
    if (--calls_ == 0) times_.spent += since(entered_);
  }

  /// True if no message is under way.
  bool idle() const { return messages_ == 0; }
  /// Times since construction, without messages still under way.
  const MessageTimes& times() const { return times_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  MessageTimes times_;
  int messages_ = 0, calls_ = 0;
  Clock::time_point first_, entered_;
};

/// Counts the time of a scope as spent on messages. `clock` may be null.
using MessageScope = Scope<&MessageClock::enter, &MessageClock::leave>;

}  // namespace triax
