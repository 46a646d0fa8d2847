// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/simulate/simulate.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "src/schedule/simulate/stage_clock.hpp"
#include "src/schedule/verify/exchange_ledger.hpp"

namespace triax {
namespace {

constexpr double unknown = -1.0;

// A message between two stages: when both ends posted it, and when it is done.
struct Message {
  double sent = unknown, received = unknown, end = unknown;
  double transfer = 0.0;
  int from = 0, to = 0;
};

class Simulation {
 public:
  Simulation(const Plans& plans, const PlanShape& shape, const OpTimes& times, bool intervals)
      : shape_(shape),
        times_(times),
        messages_(static_cast<std::size_t>(messages_of(shape))),
        way_free_(static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.stages)),
        exchanges_(plans.size()),
        queued_(plans.size(), true) {
    for (std::size_t s = 0; s < plans.size(); ++s) {
      clocks_.emplace_back(static_cast<int>(s), plans[s], intervals);
      ready_.push_back(static_cast<int>(s));
    }
  }

  Timeline run() {
    for (std::size_t next = 0; next < ready_.size(); ++next) {
      const int stage = ready_[next];
      queued_[index(stage)] = false;
      while (!clocks_[index(stage)].at_end() && step(stage)) {
      }
      if (next > 1024) {  // keeps the queue short
        ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(next) + 1);
        next = static_cast<std::size_t>(-1);
      }
    }
    check_deadlock();
    Timeline timeline;
    for (StageClock& clock : clocks_) {
      timeline.makespan = std::max(timeline.makespan, clock.now());
      timeline.stages.push_back(clock.take_times());
    }
    return timeline;
  }

 private:
  // A group of messages that begin together and end together.
  struct Exchange {
    bool open = false;
    std::vector<int> now, last;  // numbers of messages: of the open one, and of the one before
    std::vector<bool> sends;     // of `now`
  };

  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  Message& message(int number) { return messages_[index(number)]; }

  void wake(int stage) {
    if (queued_[index(stage)]) return;
    queued_[index(stage)] = true;
    ready_.push_back(stage);
  }

  // Executes the stage's next instruction. False if it waits for another stage.
  bool step(int stage) {
    StageClock& clock = clocks_[index(stage)];
    const Op& op = clock.op();
    const OpTime time = times_.of(stage, op);
    if (const auto part = message_of(op.kind)) {
      const int number = number_of(*part, shape_, stage, op);
      if (!part->start) return end_message(clock, message(number), time);
      post(stage, *part, number, time);
      clock.pass(time.holds);
      return true;
    }
    switch (op.kind) {
      case OpKind::ExchangeBegin:
        exchanges_[index(stage)].open = true;
        break;
      case OpKind::ExchangeEnd:
        if (!end_exchange(stage)) return false;
        break;
      case OpKind::TiedSum:
        return meet(stage, time, tied_, std::min(2, shape_.stages));
      case OpKind::GradientNorm:
        return meet(stage, time, norm_, shape_.stages);
      default:
        clock.run(time);
        return true;
    }
    clock.pass(time.holds);
    return true;
  }

  void post(int stage, const MessagePart& part, int number, const OpTime& time) {
    Message& posted = message(number);
    (part.send ? posted.from : posted.to) = stage;
    if (part.send) posted.transfer = time.transfer;
    Exchange& exchange = exchanges_[index(stage)];
    if (exchange.open) {
      exchange.now.push_back(number);
      exchange.sends.push_back(part.send);
      return;
    }
    (part.send ? posted.sent : posted.received) = clocks_[index(stage)].now() + time.holds;
    begin(posted, true);
  }

  // Begins a message that both ends have posted.
  void begin(Message& posted, bool one_by_one) {
    if (posted.sent == unknown || posted.received == unknown) return;
    double from = std::max(posted.sent, posted.received);
    double& free = way_free_[index(posted.from * shape_.stages + posted.to)];
    if (one_by_one) from = std::max(from, free);
    posted.end = free = from + posted.transfer;
    wake(posted.from);
    wake(posted.to);
  }

  static bool end_message(StageClock& clock, const Message& posted, const OpTime& time) {
    if (posted.end == unknown) return false;
    clock.wait(posted.end, &StageTimes::pipeline);
    clock.pass(time.holds);
    return true;
  }

  // Begins the exchange's messages once those of the stage's exchange before are done: they run on
  // one stream. The stage itself does not wait for them.
  bool end_exchange(int stage) {
    Exchange& exchange = exchanges_[index(stage)];
    double from = clocks_[index(stage)].now();
    for (const int number : exchange.last) {
      if (message(number).end == unknown) return false;
      from = std::max(from, message(number).end);
    }
    for (std::size_t i = 0; i < exchange.now.size(); ++i) {
      Message& posted = message(exchange.now[i]);
      (exchange.sends[i] ? posted.sent : posted.received) = from;
      begin(posted, false);
    }
    exchange.last = std::move(exchange.now);
    exchange.now.clear();
    exchange.sends.clear();
    exchange.open = false;
    return true;
  }

  // Arrivals of stages at an instruction that they execute together.
  struct Meeting {
    std::vector<int> stages;
    double latest = 0.0;
    bool operator()(int stage) const {
      return std::find(stages.begin(), stages.end(), stage) != stages.end();
    }
  };

  bool meet(int stage, const OpTime& time, Meeting& meeting, int all_of_them) {
    StageClock& clock = clocks_[index(stage)];
    if (!meeting(stage)) {
      meeting.stages.push_back(stage);
      meeting.latest = std::max(meeting.latest, clock.now());
      if (std::ssize(meeting.stages) == all_of_them)
        for (const int other : meeting.stages)
          if (other != stage) wake(other);
    }
    if (std::ssize(meeting.stages) < all_of_them) return false;
    clock.wait(meeting.latest, &StageTimes::pipeline);
    clock.pass(time.holds);
    return true;
  }

  void check_deadlock() const {
    std::string text;
    for (const StageClock& clock : clocks_)
      if (!clock.at_end())
        text += (text.empty() ? "" : "; so does ") + clock.place() +
                (text.empty() ? ": waits for ever" : "");
    if (!text.empty()) throw std::logic_error(text);
  }

  const PlanShape& shape_;
  const OpTimes& times_;
  std::vector<StageClock> clocks_;
  std::vector<Message> messages_;
  std::vector<double> way_free_;  // by (from, to)
  std::vector<Exchange> exchanges_;
  Meeting tied_, norm_;
  std::vector<int> ready_;  // stages to go on with
  std::vector<bool> queued_;
};

}  // namespace

double Timeline::bubble() const {
  double waits = 0.0;
  for (const StageTimes& stage : stages)
    waits += stage.pipeline + std::max(0.0, makespan - stage.end());
  return makespan > 0.0 ? waits / (makespan * static_cast<double>(stages.size())) : 0.0;
}

double Timeline::busy() const {
  double busy = 0.0;
  for (const StageTimes& stage : stages) busy += stage.busy;
  return makespan > 0.0 ? busy / (makespan * static_cast<double>(stages.size())) : 0.0;
}

Timeline simulate(const Plans& plans, const PlanShape& shape, const OpTimes& times,
                  bool intervals) {
  check_shape(shape);
  if (std::ssize(plans) != shape.stages)
    throw std::logic_error("there are " + std::to_string(plans.size()) + " plans for " +
                           std::to_string(shape.stages) + " stages");
  return Simulation(plans, shape, times, intervals).run();
}

}  // namespace triax
