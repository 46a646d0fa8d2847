#pragma once
// kernels/cuda/launch/launch.hpp for other compilers than nvcc: kernels run on the host, block
// after block, each thread of a block a fiber that gives way where it waits for others. Slow and
// for tests alone: the very structs that run on a GPU, checked where there is none. A barrier that
// not all threads reach is an Error; shared memory starts as NaN; unaligned 16-byte accesses trap.
#include <cstdint>
#include <cstring>

#include "kernels/base/device/device.hpp"
#include "kernels/cuda/launch/launch_shape.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "tests/support/emulator/emulated_device.hpp"

#define TRIAX_DEVICE

namespace triax::cuda {

namespace emulator {
class Machine;
}

/// What a thread sees of its block, as for a GPU.
class Block {
 public:
  int thread_x() const { return thread_ % shape_.threads_x; }
  int thread_y() const { return thread_ / shape_.threads_x; }
  int threads_x() const { return shape_.threads_x; }
  int threads_y() const { return shape_.threads_y; }
  std::int64_t index_x() const { return index_x_; }
  std::int64_t index_y() const { return index_y_; }
  void sync() const;
  template <class T>
  T shuffle_xor(T value, int mask) const {
    std::uint64_t word = 0;
    static_assert(sizeof value <= sizeof word);
    std::memcpy(&word, &value, sizeof value);
    word = exchange(word, mask);
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  /// What a warp does as one: work(`mine` of each lane) once, when all of its lanes have come.
  void together(void* mine, void (*work)(void* const* lanes)) const;
  /// A copy that is made where it is waited for, as late as a GPU may make it; of zeros unless
  /// `present`.
  void begin_copy(void* to, const void* from, int bytes, bool present) const;
  void finish_copies() const;
  template <class T>
  T* shared() const {
    return static_cast<T*>(shared_);
  }

 private:
  friend class emulator::Machine;
  std::uint64_t exchange(std::uint64_t word, int mask) const;

  emulator::Machine* machine_ = nullptr;
  LaunchShape shape_;
  std::int64_t index_x_ = 0;
  std::int64_t index_y_ = 0;
  int thread_ = 0;
  void* shared_ = nullptr;
};

namespace emulator {
/// Calls thread(body, block) once for every thread of the shape.
void run(const LaunchShape& shape, void (*thread)(const void* body, const Block& block),
         const void* body);
}  // namespace emulator

template <class Body>
void launch(const Stream& stream, const LaunchShape& shape, Body body) {
  if (shape.blocks_x == 0 || shape.blocks_y == 0) return;
  check_shape(shape, Body::max_threads);
  emulator::enqueue(stream, [shape, body] {
    emulator::run(
        shape, [](const void* of, const Block& block) { (*static_cast<const Body*>(of))(block); },
        &body);
  });
}

}  // namespace triax::cuda
