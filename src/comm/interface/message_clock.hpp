#pragma once
// How much of the time of messages is hidden behind other work.
#include <chrono>

#include "kernels/base/scope.hpp"

namespace triax {

struct MessageTimes {
  /// Seconds in which at least one message was under way: from its start until this rank saw that
  /// it is complete.
  double under_way = 0.0;
  /// Of them, those that the rank spent in the calls that start, test and await messages: it
  /// copied, summed or waited, and did nothing else.
  double spent = 0.0;

  MessageTimes& operator+=(const MessageTimes& other) {
    under_way += other.under_way;
    spent += other.spent;
    return *this;
  }
};

/// Those of one axis, over all its groups. One thread.
class MessageClock {
 public:
  void begins() {
    if (messages_++ == 0) first_ = Clock::now();
  }
  void ends() {
    if (--messages_ == 0) times_.under_way += since(first_);
  }

  /// From enter to leave the rank spends its time on messages. Within that, once more counts once.
  void enter() {
    if (calls_++ == 0) entered_ = Clock::now();
  }
  void leave() {
    if (--calls_ == 0) times_.spent += since(entered_);
  }

  /// Whether no message is under way now.
  bool idle() const { return messages_ == 0; }
  /// Since the clock was made, without what is under way now.
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

/// The time of a scope is spent on messages; `clock` may be null.
using MessageScope = Scope<&MessageClock::enter, &MessageClock::leave>;

}  // namespace triax
