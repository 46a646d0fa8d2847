// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/message_line.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace triax {
namespace {

Tensor view(std::vector<std::int32_t>& numbers) {
  return {numbers.data(), {std::ssize(numbers)}};
}

}  // namespace

MessageLine::MessageLine(Communicator& group, WaitPolicy policy, std::size_t under_way)
    : group_(group), policy_(policy), under_way_(under_way), stream_(MemorySpace::host) {}

MessageLine::~MessageLine() {
  for (Message& message : sent_) {
    message.first_sent.wait(stream_);
    message.rest_sent.wait(stream_);
  }
}

void MessageLine::send(std::span<const std::int32_t> message) {
  if (group_.size() == 1) return;
  while (sent_.size() > under_way_) {
    sent_.front().first_sent.wait(stream_);
    sent_.front().rest_sent.wait(stream_);
    sent_.pop_front();
  }
  Message& to = sent_.emplace_back();
  const std::size_t begun = std::min(message.size(), first_part - 1);
  to.first.assign(first_part, 0);
  to.first[0] = static_cast<std::int32_t>(message.size());
  std::copy_n(message.begin(), begun, to.first.begin() + 1);
  to.rest.assign(message.begin() + static_cast<std::ptrdiff_t>(begun), message.end());
  to.first_sent = group_.broadcast(stream_, view(to.first), 0);
  if (!to.rest.empty()) to.rest_sent = group_.broadcast(stream_, view(to.rest), 0);
}

std::vector<std::int32_t> MessageLine::receive() {
  std::vector<std::int32_t> first(first_part);
  wait_asleep(group_.broadcast(stream_, view(first), 0));
  const auto size = static_cast<std::size_t>(first[0]);
  const std::size_t begun = std::min(size, first_part - 1);
  std::vector<std::int32_t> rest(size - begun);
  if (!rest.empty()) wait_asleep(group_.broadcast(stream_, view(rest), 0));
  std::vector<std::int32_t> message(first.begin() + 1,
                                    first.begin() + 1 + static_cast<std::ptrdiff_t>(begun));
  message.insert(message.end(), rest.begin(), rest.end());
  return message;
}

void MessageLine::wait_asleep(Request request) const {
  using namespace std::chrono;
  constexpr auto awake = milliseconds(5);
  constexpr microseconds longest(2000);
  const auto begun = steady_clock::now();
  Patience patience(policy_);
  microseconds nap(50);
  while (!request.test()) {
    if (steady_clock::now() - begun < awake) {
      patience.pause();
      continue;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, longest);
  }
}

}  // namespace triax
