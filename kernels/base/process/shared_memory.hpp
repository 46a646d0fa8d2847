// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that processes of one machine share.
#include <array>
#include <cstddef>
#include <cstdint>

namespace triax {

/// Memory of a file without a name (memfd_create). It is freed when the last process that maps it
/// ends, however that ends, and no mount limits its size (/dev/shm has 64 MiB in a container). One
/// process makes it. Others open it through /proc while the maker keeps it open and the system
/// permits it: containers may number their processes apart or forbid access to each other's.
class SharedMemory {
 public:
  /// Numbers by which another process opens the memory; they fit a message. All zero: no memory.
  using Name = std::array<std::int64_t, 6>;

  /// The kernel a process runs on and the namespace of its pid. Processes share memory only within
  /// the same home.
  using Home = std::array<std::int64_t, 2>;
  static Home home();

  SharedMemory() = default;
  /// New zeroed memory. All of it is reserved at once: a store without reserved memory would kill
  /// the process. If the system refuses, error() is set. `label` names it in /proc/PID/maps.
  static SharedMemory make(const char* label, std::size_t bytes);
  /// Memory that another process made with the same `bytes`. If the system refuses, error() is set;
  /// it is ESRCH if the maker runs on another machine or in another pid namespace.
  static SharedMemory open(const Name& name, std::size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// Null after an error.
  std::byte* data() const { return data_; }
  const Name& name() const { return name_; }
  /// errno of the failed system call; 0 without an error.
  int error() const { return error_; }
  /// Closes the file: no process can open it any more; processes that mapped it keep it.
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
