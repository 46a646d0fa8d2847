#pragma once
// Pinned host memory that messages of a device's memory pass through, taken once and used again.
#include <cstdint>
#include <utility>
#include <vector>

#include "src/comm/watchdog/device_wait.hpp"

namespace triax {

/// A message takes the least free piece that is large enough; where none is, the largest free one
/// grows, or a new one is made. The order of messages alone decides how much that comes to, so that
/// a plan can find it.
class StagingMemory {
 public:
  /// `plan`: counts what it would take, and takes nothing.
  /// `wait`: how the caller waits for the device.
  explicit StagingMemory(bool plan = false, WaitForDevice wait = wait_alone)
      : plan_(plan), wait_(std::move(wait)) {}

  /// A piece of at least `bytes`; its memory may still be on its way to the device: busy().
  int take(std::size_t bytes);
  void release(int piece) { pieces_[static_cast<std::size_t>(piece)].used = false; }
  const Buffer& memory(int piece) const { return of(piece).memory; }
  /// The last copy from it to the device: nothing else may write there before.
  Event& busy(int piece) { return pieces_[static_cast<std::size_t>(piece)].busy; }
  std::int64_t bytes() const;

 private:
  struct Piece {
    std::size_t bytes = 0;
    bool used = false;
    Buffer memory;
    Event busy;
  };
  const Piece& of(int piece) const { return pieces_[static_cast<std::size_t>(piece)]; }

  bool plan_;
  WaitForDevice wait_;
  std::vector<Piece> pieces_;
};

}  // namespace triax
