// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/verify/buffer_states.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace triax {
namespace {

const char* text_of(BoundaryStates::State state) {
  switch (state) {
    case BoundaryStates::State::absent:
      return "not there";
    case BoundaryStates::State::receiving:
      return "in flight";
    case BoundaryStates::State::valid:
      return "there, and not in flight";
    case BoundaryStates::State::sending:
      return "being sent";
  }
  return "";
}

}  // namespace

void BoundaryStates::acquire(int index, State state, const char* what) {
  require(index, State::absent, what);
  states_[index] = state;
  peak_ = std::max(peak_, ++in_use_);
}

void BoundaryStates::change(int index, State from, State to, const char* what) {
  require(index, from, what);
  states_[index] = to;
}

void BoundaryStates::release(int index, State from, const char* what) {
  require(index, from, what);
  states_[index] = State::absent;
  --in_use_;
}

void BoundaryStates::require(int index, State state, const char* what) const {
  if (states_[index] != state)
    throw std::logic_error(std::string(what) + " is " + text_of(states_[index]) + " (it must be " +
                           text_of(state) + ")");
}

void FrameStates::acquire(int index, int pool) {
  if (resident_[index]) throw std::logic_error("frame is resident already");
  resident_[index] = true;
  peaks_[pool] = std::max(peaks_[pool], ++in_use_[pool]);
}

void FrameStates::release(int index, int pool) {
  if (!resident_[index]) throw std::logic_error("frame is not resident");
  resident_[index] = false;
  --in_use_[pool];
}

int FrameStates::in_use() const {
  return std::accumulate(in_use_.begin(), in_use_.end(), 0);
}

}  // namespace triax
