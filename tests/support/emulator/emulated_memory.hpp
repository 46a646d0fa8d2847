// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the emulated device: a range of host addresses closed (PROT_NONE) to everything but the
// work of its streams.
#include <cstddef>
#include <map>

namespace triax::cuda::emulator {

/// Not thread-safe, except for owns().
class DeviceMemory {
 public:
  static constexpr std::size_t capacity = std::size_t{64} << 30;

  DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Opens the memory for the lifetime of this object.
  class Open {
   public:
    explicit Open(DeviceMemory& memory);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    DeviceMemory& memory_;
  };

  bool open() const { return open_ > 0; }

  /// Returns zeroed memory. Throws an Error if there is not enough.
  void* allocate(std::size_t bytes);
  void release(void* memory);
  bool owns(const void* memory) const;
  std::size_t free_bytes() const { return capacity - taken_; }

  /// Marks host memory, in whole pages, that copies may still read or write after the call
  /// returned.
  void pin(void* memory, std::size_t bytes);
  void unpin(void* memory);
  bool pinned(const void* memory) const;

 private:
  void protect(int access);

  char* region_;
  std::map<std::size_t, std::size_t> used_;  // bytes by offset
  std::size_t taken_ = 0;
  std::map<const char*, std::size_t> pinned_;
  int open_ = 0;
};

}  // namespace triax::cuda::emulator
