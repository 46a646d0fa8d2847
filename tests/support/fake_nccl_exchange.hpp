// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends and receives of the fake NCCL. As in NCCL, the n-th send to a rank meets the n-th receive
// there, and a message moves only once both ends have started. Messages of a group move
// independently, and the group is complete when all of them are.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/support/fake_nccl_ranks.hpp"

namespace triax::test {

struct FakePeerCall {
  bool send;
  int peer;
  int type;
  std::uint64_t count;
  std::uint64_t bytes;
  void* memory;
  std::uint64_t number = 0;  // counts the messages with that peer in this direction
};

// A group of sends and receives.
class FakeExchange {
 public:
  FakeExchange(const FakeRanks& ranks, std::vector<FakePeerCall> calls)
      : ranks_(ranks), calls_(std::move(calls)) {}

  /// Starts the messages: publishes what is sent.
  void begin() const {
    for (const FakePeerCall& call : calls_) {
      FakeSlot::With& own = here(call);
      if (call.send) {
        check(call.number <= there(call).taken + own.messages.size(),
              "the fake NCCL has no room for another message");
        FakeSlot::Message& message = own.messages[call.number % own.messages.size()];
        message.type = call.type;
        message.count = call.count;
        std::memcpy(message.data.data(), call.memory, call.bytes);
        own.sent = call.number;
      } else {
        own.posted = call.number;
      }
    }
  }
  /// Whether all messages have started at the other end too. Records those that it waits for.
  bool complete() const {
    bool all = true;
    for (const FakePeerCall& call : calls_) {
      FakeSlot::With& own = here(call);
      const std::uint64_t begun = call.send ? there(call).posted : there(call).sent;
      if (begun >= call.number) continue;
      auto& awaited = call.send ? own.awaits_receive : own.awaits_send;
      awaited = std::max(awaited.load(), call.number);
      all = false;
    }
    return all;
  }
  /// Whether type and count of each message agree with the receive. NCCL does not check that.
  bool matches() const {
    return std::ranges::all_of(calls_, [this](const FakePeerCall& call) {
      return call.send || (message(call).type == call.type && message(call).count == call.count);
    });
  }
  void take() const {
    for (const FakePeerCall& call : calls_) {
      if (call.send) continue;
      std::memcpy(call.memory, message(call).data.data(), call.bytes);
      here(call).taken = call.number;
    }
  }
  /// Whether another rank waits for this exchange.
  bool awaited() const {
    return std::ranges::any_of(calls_, [this](const FakePeerCall& call) {
      const FakeSlot::With& other = there(call);
      return (call.send ? other.awaits_send : other.awaits_receive) >= call.number;
    });
  }

 private:
  FakeSlot::With& here(const FakePeerCall& call) const { return of(ranks_.rank(), call.peer); }
  FakeSlot::With& there(const FakePeerCall& call) const { return of(call.peer, ranks_.rank()); }
  FakeSlot::With& of(int rank, int other) const {
    return ranks_.of(rank).with[static_cast<std::size_t>(other)];
  }
  const FakeSlot::Message& message(const FakePeerCall& call) const {
    const auto& messages = there(call).messages;
    return messages[call.number % messages.size()];
  }

  const FakeRanks& ranks_;
  std::vector<FakePeerCall> calls_;
};

}  // namespace triax::test
