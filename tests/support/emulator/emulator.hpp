// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emulator of GPU kernels: kernels/cuda/launch/launch.hpp for compilers other than nvcc. The
// structs that run on a GPU run on the host, one CUDA block after another, with a fiber per thread
// that yields where it waits for other threads. It finds wrong indices and sums, missing barriers
// and waits, and unaligned 16-byte accesses, also under ASan and UBSan; it says nothing about speed
// or about what only hardware does. A barrier that not all threads reach is an Error. Shared memory
// starts as NaN.
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

/// A thread's view of its CUDA block, as on a GPU.
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
  /// Warp-wide operation: calls work(`mine` of each lane) once, when all lanes have arrived.
  void together(void* mine, void (*work)(void* const* lanes)) const;
  /// A copy to shared memory, made as late as a GPU may make it: in finish_copies(). Copies zeros
  /// unless `present`.
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
/// Calls thread(body, block) once for every thread of the grid.
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
