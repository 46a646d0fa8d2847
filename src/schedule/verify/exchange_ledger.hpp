#pragma once
// The messages between stages in simulation: which one an instruction is about, and the exchanges
// of those that match by their order alone.
#include <optional>
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

/// A message instruction, taken apart.
struct MessagePart {
  bool gradient;
  bool send;
  bool start;
};
std::optional<MessagePart> message_of(OpKind kind);

/// Messages by (activation or gradient, edge, microbatch), in [0, messages_of(shape)); edge g lies
/// between global chunks g and g + 1.
int number_of(const MessagePart& message, const PlanShape& shape, int stage, const Op& op);
int messages_of(const PlanShape& shape);

/// As a rank has it that does one thing after another: what is behind an exchange waits until every
/// message of it has begun at its other end too. Between two stages the n-th that one sends meets
/// the n-th that the other receives from there.
class ExchangeLedger {
 public:
  /// The reference must outlive the ledger.
  explicit ExchangeLedger(const PlanShape& shape);

  /// The stage comes to an instruction. std::logic_error where messages that match so have it
  /// elsewhere, or where another message would meet it.
  void reach(int stage, const Op& op);
  /// Whether the exchange whose end the stage has come to is.
  bool complete(int stage) const;
  /// At the end of its plan: std::logic_error where an exchange has none.
  void check_end(int stage) const;

 private:
  struct Message {
    int from, to;  // stages
    bool send;     // of the two ends
    int number;
    std::size_t position = 0;  // among all from there to there
  };
  // What two stages have begun, in order.
  struct Channel {
    std::vector<int> sent, received;
  };
  Message taken_apart(const MessagePart& part, int stage, const Op& op) const;
  void begin(Message& message);
  const Channel& of(const Message& message) const {
    return channels_[message.from * shape_.stages + message.to];
  }

  const PlanShape& shape_;
  std::vector<bool> open_;                       // by stage: within an exchange
  std::vector<std::vector<Message>> exchanges_;  // by stage: the last one
  std::vector<Channel> channels_;                // by (from, to)
};

}  // namespace triax
