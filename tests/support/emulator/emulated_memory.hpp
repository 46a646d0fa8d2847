#pragma once
// The memory of the emulated device: a region of the host's that is closed to everybody but the
// work of its streams.
#include <cstddef>
#include <map>

namespace triax::cuda::emulator {

/// Not for two threads at once, but for owns().
class DeviceMemory {
 public:
  static constexpr std::size_t capacity = std::size_t{64} << 30;

  DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// While one lives the memory is open.
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

  /// Zeros. Error where there is no room.
  void* allocate(std::size_t bytes);
  void release(void* memory);
  bool owns(const void* memory) const;
  std::size_t free_bytes() const { return capacity - taken_; }

  /// Memory of the host that copies may read and write later; whole pages.
  void pin(void* memory, std::size_t bytes);
  void unpin(void* memory);
  bool pinned(const void* memory) const;

 private:
  void protect(int access);

  char* region_;
  std::map<std::size_t, std::size_t> used_;  // bytes, by where they begin
  std::size_t taken_ = 0;
  std::map<const char*, std::size_t> pinned_;
  int open_ = 0;
};

}  // namespace triax::cuda::emulator
