// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulated states of the activations and gradients between layers, and of the frames, of one
// stage.
#include <cstdint>
#include <vector>

namespace triax {

/// Boundary buffers by number. Every function throws std::logic_error if the buffer is in another
/// state than required; `what` names it in the text ("its input").
class BoundaryStates {
 public:
  enum class State : std::uint8_t { absent, receiving, valid, sending };

  explicit BoundaryStates(int count) : states_(count, State::absent) {}

  /// absent -> valid or receiving
  void acquire(int index, State state, const char* what);
  void require_valid(int index, const char* what) const { require(index, State::valid, what); }
  /// Any change between two states in use.
  void change(int index, State from, State to, const char* what);
  /// `from` -> absent
  void release(int index, State from, const char* what);

  int in_use() const { return in_use_; }
  int peak() const { return peak_; }

 private:
  void require(int index, State state, const char* what) const;

  std::vector<State> states_;
  int in_use_ = 0;
  int peak_ = 0;
};

/// Frames, or other buffers, by number; each belongs to a pool.
class FrameStates {
 public:
  FrameStates(int count, int pools)
      : resident_(count, false), in_use_(pools, 0), peaks_(pools, 0) {}

  /// Throw std::logic_error if it is already resident, or is not.
  void acquire(int index, int pool);
  void release(int index, int pool);

  int in_use() const;
  const std::vector<int>& peaks() const { return peaks_; }

 private:
  std::vector<bool> resident_;
  std::vector<int> in_use_;  // by pool
  std::vector<int> peaks_;
};

}  // namespace triax
