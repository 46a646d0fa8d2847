#pragma once
// Memory that processes of one machine share.
#include <array>
#include <cstddef>
#include <cstdint>

namespace triax {

/// A file without a name (memfd_create), which is gone with the last process that has it, however
/// that ends, and for which no mount sets a limit (/dev/shm has 64 MiB in a container). One process
/// makes it; others open it by way of /proc, while the maker keeps it open, where the system lets
/// them (containers may number their processes apart, or forbid to look at each other's).
class SharedMemory {
 public:
  /// What another process needs to open it, as numbers that a message carries. All zero: nothing.
  using Name = std::array<std::int64_t, 6>;

  /// Processes of different homes share nothing: the kernel that they run on, and the namespace
  /// that numbers them.
  using Home = std::array<std::int64_t, 2>;
  static Home home();

  SharedMemory() = default;
  /// Zeros, with their room: without, the first store would end the process. Where the system gives
  /// none, error() says why. `label` names it in /proc/PID/maps.
  static SharedMemory make(const char* label, std::size_t bytes);
  /// That which another process made with as many bytes. Errors likewise: of another machine, or of
  /// processes that are numbered apart, there is none by that name (ESRCH).
  static SharedMemory open(const Name& name, std::size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// Null where there is none.
  std::byte* data() const { return data_; }
  const Name& name() const { return name_; }
  /// Of the system (errno); 0: none.
  int error() const { return error_; }
  /// Nobody can open it from here on. What has it keeps it.
  void close_to_others();

 private:
  void swap(SharedMemory& other) noexcept;
  void map(int file, std::size_t bytes);

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Name name_{};
  int file_ = -1;
  int error_ = 0;
};

}  // namespace triax
