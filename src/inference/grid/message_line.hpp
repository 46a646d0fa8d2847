// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages of any size from rank 0 of a group to all its other ranks.
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "kernels/base/wait.hpp"
#include "src/comm/interface/communicator.hpp"

namespace triax {

/// Every rank makes its calls in the same order: a send() on rank 0, a receive() elsewhere. The
/// group's other collective calls may come in between.
class MessageLine {
 public:
  /// `policy`: of the first moments of a wait; a longer one sleeps. `under_way`: messages that
  /// send() does not wait for. `group` outlives the line.
  MessageLine(Communicator& group, WaitPolicy policy, std::size_t under_way);
  /// Waits for the messages under way.
  ~MessageLine();
  MessageLine(const MessageLine&) = delete;
  MessageLine& operator=(const MessageLine&) = delete;

  /// On rank 0. Returns before the others have it.
  void send(std::span<const std::int32_t> message);
  /// On the others: the next message. Sleeps until it comes, with naps of at most 2 ms.
  std::vector<std::int32_t> receive();

 private:
  // The first part has a fixed size, so that short messages need no second one: the length, then
  // the beginning.
  static constexpr std::size_t first_part = 2048;
  struct Message {
    std::vector<std::int32_t> first, rest;
    Request first_sent = {}, rest_sent = {};
  };
  void wait_asleep(Request request) const;

  Communicator& group_;
  WaitPolicy policy_;
  std::size_t under_way_;
  Stream stream_;
  std::deque<Message> sent_;
};

}  // namespace triax
