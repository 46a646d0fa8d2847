#pragma once
// The one policy by which a thread waits for what another process does: comm waits so for messages,
// io for the outcome of a file operation.
#include <cstdint>

#include "kernels/base/scope.hpp"

namespace triax {

/// spin: ask without pause, and only after a while let others have the core between; right when
/// every rank of the node has a core. yield: ask a few times, then leave the core to others. With
/// more ranks than cores a spinning rank keeps the one it waits for from running: an 8-float
/// all-reduce of 8 ranks on 2 cores takes 51 ms so, and below 1 ms with yield.
enum class WaitPolicy : std::uint8_t { spin, yield };

/// spin where `ranks_on_node` have a core each, yield otherwise.
constexpr WaitPolicy wait_policy(int ranks_on_node, int cores_of_node) {
  return ranks_on_node <= cores_of_node ? WaitPolicy::spin : WaitPolicy::yield;
}

/// One wait: call pause() between two looks at what is awaited.
class Patience {
 public:
  explicit Patience(WaitPolicy policy);
  /// Nothing at first, later a yield of the core, later still a short sleep.
  void pause();

 private:
  int pauses_ = 0;
  int pauses_before_yield_;
  int pauses_before_nap_;
};

/// Is told when a rank waits for others, outside of training (src/comm, ProgressBoard), so that a
/// wait without end can be explained.
class WaitWatch {
 public:
  virtual ~WaitWatch() = default;
  virtual void begins() = 0;
  virtual void ends() = 0;
  /// Between these it works on files, which may take long: others that wait for it are not stuck.
  virtual void file_work_begins() = 0;
  virtual void file_work_ends() = 0;
};

/// The wait of a scope; `watch` may be null.
using WaitScope = Scope<&WaitWatch::begins, &WaitWatch::ends>;
/// File work of a scope, with whatever waits are in it; `watch` may be null.
using FileScope = Scope<&WaitWatch::file_work_begins, &WaitWatch::file_work_ends>;

}  // namespace triax
