// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/verify/exchange_ledger.hpp"

#include <algorithm>

#include "src/schedule/verify/require.hpp"

namespace triax {
std::optional<MessagePart> message_of(OpKind kind) {
  switch (kind) {
    case OpKind::SendActivationStart:
      return MessagePart{false, true, true};
    case OpKind::SendActivationWait:
      return MessagePart{false, true, false};
    case OpKind::RecvActivationStart:
      return MessagePart{false, false, true};
    case OpKind::RecvActivationWait:
      return MessagePart{false, false, false};
    case OpKind::SendGradientStart:
      return MessagePart{true, true, true};
    case OpKind::SendGradientWait:
      return MessagePart{true, true, false};
    case OpKind::RecvGradientStart:
      return MessagePart{true, false, true};
    case OpKind::RecvGradientWait:
      return MessagePart{true, false, false};
    default:
      return std::nullopt;
  }
}

int number_of(const MessagePart& message, const PlanShape& shape, int stage, const Op& op) {
  const int chunk = op.chunk * shape.stages + stage;
  const int edge = message.send == message.gradient ? chunk - 1 : chunk;
  const int edges = shape.stages * shape.chunks;  // one more than exist
  return ((message.gradient ? edges : 0) + edge) * shape.microbatches + op.microbatch;
}

int messages_of(const PlanShape& shape) {
  return 2 * shape.stages * shape.chunks * shape.microbatches;
}

ExchangeLedger::ExchangeLedger(const PlanShape& shape)
    : shape_(shape),
      open_(shape.stages, false),
      exchanges_(shape.stages),
      channels_(static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.stages)) {}

void ExchangeLedger::reach(int stage, const Op& op) {
  const bool begins = op.kind == OpKind::ExchangeBegin, ends = op.kind == OpKind::ExchangeEnd;
  if (shape_.matching == MessageMatching::by_tag)
    return require(!begins && !ends, "messages that match by tags are in no exchange");
  const auto part = message_of(op.kind);
  const bool starts = part && part->start;
  if (open_[stage])
    require(starts || ends, "it stands within an exchange");
  else
    require(!starts && !ends, "it stands in no exchange");
  if (begins) exchanges_[stage].clear();
  if (starts) exchanges_[stage].push_back(taken_apart(*part, stage, op));
  if (begins || ends) open_[stage] = begins;
  if (!ends) return;
  require(!exchanges_[stage].empty(), "nothing is exchanged");
  for (Message& message : exchanges_[stage]) begin(message);
}

// Activations go to the next stage (from the last to the first), gradients the other way.
ExchangeLedger::Message ExchangeLedger::taken_apart(const MessagePart& part, int stage,
                                                    const Op& op) const {
  const int step = part.send != part.gradient ? 1 : shape_.stages - 1;
  const int other = (stage + step) % shape_.stages;
  return {part.send ? stage : other, part.send ? other : stage, part.send,
          number_of(part, shape_, stage, op)};
}

void ExchangeLedger::begin(Message& message) {
  Channel& channel = channels_[message.from * shape_.stages + message.to];
  std::vector<int>& own = message.send ? channel.sent : channel.received;
  const std::vector<int>& other = message.send ? channel.received : channel.sent;
  message.position = own.size();
  own.push_back(message.number);
  require(other.size() <= message.position || other[message.position] == message.number,
          "one of its messages would meet another");
}

bool ExchangeLedger::complete(int stage) const {
  return std::ranges::all_of(exchanges_[stage], [this](const Message& message) {
    const Channel& channel = of(message);
    return (message.send ? channel.received : channel.sent).size() > message.position;
  });
}

void ExchangeLedger::check_end(int stage) const {
  require(!open_[stage], "an exchange has no end");
}

}  // namespace triax
