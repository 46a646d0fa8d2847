#pragma once
// Where memory lies and in which order work on it runs. On the host a stream is the calling thread:
// work is complete when the call returns, and events are always done. The CUDA body keeps the same
// interface.
#include <cstddef>

#include "kernels/base/tensor.hpp"

namespace triax {

class Stream;

/// A point in a stream's work.
class Event {
 public:
  void record(const Stream& stream);
  /// True when the work before the recorded point is complete.
  bool done() const { return true; }

 private:
  MemorySpace space_ = MemorySpace::host;
};

/// An ordered queue of work in one memory space. Kernels take it first.
class Stream {
 public:
  explicit Stream(MemorySpace space = MemorySpace::host);
  MemorySpace space() const { return space_; }
  /// Work issued from here on starts after `event`.
  void wait(const Event& event) const;
  /// Blocks the caller until all work issued so far is complete.
  void synchronize() const;

 private:
  MemorySpace space_;
};

/// Owned memory, zeroed. Aligned to 64 bytes, to 4096 from that size on (disk I/O past the page
/// cache), to 2 MiB and marked for huge pages from that size on.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, MemorySpace space = MemorySpace::host);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// What a Buffer of so many bytes takes of the machine: whole lines, pages or huge pages.
  static std::size_t footprint(std::size_t bytes);
  MemorySpace space() const { return space_; }
  /// A row-major view of the first elements.
  Tensor tensor(DType dtype, const Shape& shape) const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  MemorySpace space_ = MemorySpace::host;
};

/// dst = src, same type and element count, both contiguous.
void copy(const Stream& stream, const Tensor& dst, const Tensor& src);
/// All bytes of a contiguous tensor to zero.
void fill_zero(const Stream& stream, const Tensor& tensor);

}  // namespace triax
