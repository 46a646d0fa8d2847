// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulated messages between stages: the message of an instruction, and the exchanges of messages
// that match by order.
#include <optional>
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

/// Kind of a message instruction.
struct MessagePart {
  bool gradient;
  bool send;
  bool start;
};
std::optional<MessagePart> message_of(OpKind kind);

/// Number of a message by (activation or gradient, edge, microbatch), in [0, messages_of(shape)).
/// Edge g lies between global chunks g and g + 1.
int number_of(const MessagePart& message, const PlanShape& shape, int stage, const Op& op);
int messages_of(const PlanShape& shape);

/// Exchanges as a rank sees them that does one thing at a time: the instructions after an exchange
/// wait until every message of it has begun at its other end too. Between two stages the n-th
/// message that one sends meets the n-th that the other receives from it.
class ExchangeLedger {
 public:
  /// The reference must outlive the ledger.
  explicit ExchangeLedger(const PlanShape& shape);

  /// The stage reaches an instruction. Throws std::logic_error if a message is in an exchange and
  /// must not be, or the reverse, or if it would meet another message.
  void reach(int stage, const Op& op);
  /// Whether the exchange whose end the stage has reached is complete.
  bool complete(int stage) const;
  /// Requires, at the end of the plan, that no exchange is open.
  void check_end(int stage) const;

 private:
  struct Message {
    int from, to;  // stages
    bool send;     // this end sends
    int number;
    std::size_t position = 0;  // among all messages of its channel
  };
  // Messages begun between two stages, in order.
  struct Channel {
    std::vector<int> sent, received;
  };
  Message taken_apart(const MessagePart& part, int stage, const Op& op) const;
  void begin(Message& message);
  const Channel& of(const Message& message) const {
    return channels_[message.from * shape_.stages + message.to];
  }

  const PlanShape& shape_;
  std::vector<bool> open_;                       // by stage: inside an exchange
  std::vector<std::vector<Message>> exchanges_;  // by stage: the last one
  std::vector<Channel> channels_;                // by (from, to)
};

}  // namespace triax
