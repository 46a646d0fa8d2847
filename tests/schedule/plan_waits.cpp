// SPDX-License-Identifier: Apache-2.0
// The oracle's graph of waits, and the order of messages.
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/schedule/plan_oracle.hpp"

namespace triax::test {
namespace {

// Graph of waits between instructions over all stages.
class WaitGraph {
 public:
  explicit WaitGraph(const Plans& plans) : plans_(plans) {
    for (const Plan& plan : plans) {
      first_.push_back(size_);
      size_ += static_cast<int>(plan.size());
    }
    after_.resize(size_);
    waits_.resize(size_, 0);
    for (int s = 0; s < std::ssize(plans); ++s)
      for (int i = 0; i < std::ssize(plans[s]); ++i) note(s, i);
    for (const auto& [key, both] : messages_)
      for (int end = 0; end < 2; ++end) {
        add(both[end].start, both[1 - end].wait);
        if (both[end].exchange >= 0) add(both[end].exchange - 1, both[1 - end].exchange);
      }
    for (const auto& [kind, nodes] : meetings_)
      for (const auto& [node, before] : nodes)
        for (const auto& other : nodes)
          if (other.first != node && before >= 0) add(before, other.first);
  }

  bool has_circle() {
    std::vector<int> ready;
    for (int n = 0; n < size_; ++n)
      if (waits_[n] == 0) ready.push_back(n);
    int done = 0;
    for (; !ready.empty(); ++done) {
      const int node = ready.back();
      ready.pop_back();
      for (const int next : after_[node])
        if (--waits_[next] == 0) ready.push_back(next);
    }
    return done < size_;
  }

 private:
  struct End {
    int start = -1;
    int wait = -1;
    int exchange = -1;  // the end of its exchange
  };

  void add(int from, int to) {
    after_[from].push_back(to);
    ++waits_[to];
  }

  void note(int stage, int position) {
    const int node = first_[stage] + position;
    const Op& op = plans_[stage][position];
    if (position > 0) add(node - 1, node);
    const int chunk = op.chunk * static_cast<int>(plans_.size()) + stage;
    // Messages by (kind, lower of the two global chunks, microbatch), then [receiving end], then
    // Start or Wait.
    const auto end = [&](char kind, int edge, bool receives) -> End& {
      End& found = messages_[{kind, edge, op.microbatch}][receives ? 1 : 0];
      exchanged_.push_back(&found);
      return found;
    };
    switch (op.kind) {
      case OpKind::SendActivationStart:
        end('a', chunk, false).start = node;
        break;
      case OpKind::SendActivationWait:
        end('a', chunk, false).wait = node;
        break;
      case OpKind::RecvActivationStart:
        end('a', chunk - 1, true).start = node;
        break;
      case OpKind::RecvActivationWait:
        end('a', chunk - 1, true).wait = node;
        break;
      case OpKind::SendGradientStart:
        end('g', chunk - 1, false).start = node;
        break;
      case OpKind::SendGradientWait:
        end('g', chunk - 1, false).wait = node;
        break;
      case OpKind::RecvGradientStart:
        end('g', chunk, true).start = node;
        break;
      case OpKind::RecvGradientWait:
        end('g', chunk, true).wait = node;
        break;
      case OpKind::ExchangeBegin:
        exchanged_.clear();
        break;
      case OpKind::ExchangeEnd:
        for (End* const each : exchanged_) each->exchange = node;
        break;
      case OpKind::TiedSum:
      case OpKind::GradientNorm:
        meetings_[op.kind].emplace_back(node, position > 0 ? node - 1 : -1);
        break;
      default:
        break;
    }
  }

  const Plans& plans_;
  int size_ = 0;
  std::vector<int> first_;               // node of a stage's first instruction
  std::vector<std::vector<int>> after_;  // nodes that wait for a node
  std::vector<int> waits_;               // number of nodes that a node waits for
  std::map<std::tuple<char, int, int>, std::array<End, 2>> messages_;
  std::vector<End*> exchanged_;  // since the last exchange began
  std::map<OpKind, std::vector<std::pair<int, int>>>
      meetings_;  // (node, the one before it on its stage)
};

}  // namespace

bool deadlocks(const Plans& plans) {
  return WaitGraph(plans).has_circle();
}

bool messages_meet(const Plans& plans) {
  const int stages = static_cast<int>(plans.size());
  using Sent = std::vector<std::array<int, 3>>;  // (gradient, sending global chunk, microbatch)
  std::map<std::pair<int, int>, std::array<Sent, 2>> all;  // by (from, to), then by end
  for (int s = 0; s < stages; ++s)
    for (const Op& op : plans[s]) {
      const bool send =
          op.kind == OpKind::SendActivationStart || op.kind == OpKind::SendGradientStart;
      const bool gradient =
          op.kind == OpKind::SendGradientStart || op.kind == OpKind::RecvGradientStart;
      if (!send && !gradient && op.kind != OpKind::RecvActivationStart) continue;
      const int here = op.chunk * stages + s;
      const int there = send != gradient ? here + 1 : here - 1;
      const int from = send ? here : there, to = send ? there : here;
      all[{from % stages, to % stages}][send ? 0 : 1].push_back({gradient, from, op.microbatch});
    }
  for (const auto& [channel, ends] : all)
    if (ends[0] != ends[1]) return false;
  return true;
}

}  // namespace triax::test
