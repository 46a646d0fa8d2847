// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory spaces, and the order in which work on them runs. On the host a stream is the calling
// thread: work is complete when the call returns, and events are always done. On a device a stream
// is a queue: calls return at once, and events order the queues. The device's implementation is
// chosen when the program is linked (device_backend.hpp).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/base/tensor.hpp"

namespace triax {

class Stream;

/// GPUs that this process can use; 0 in a build without CUDA and on a machine without a driver.
int device_count();
/// Binds this process to GPU `index`: streams and device memory made from now on belong to it. An
/// Error if there is no such GPU.
void bind_device(int index);

/// Identifies a GPU of a machine independently of its index in a process.
struct DevicePlace {
  std::int64_t address = 0;  // PCI address: (domain * 256 + bus) * 32 + device
  std::int64_t part = 0;     // from the UUID; MIG puts several devices at one address
};

/// Facts about the GPU that this process is bound to.
struct DeviceFacts {
  std::string name;  // "NVIDIA H200"
  DevicePlace place;
  std::int64_t total_bytes = 0, free_bytes = 0;  // memory, at the time of the call
};
DeviceFacts device_facts();

/// A point in a stream's work. A copy denotes the same point.
class Event {
 public:
  void record(const Stream& stream);
  /// True if the work before the recorded point is complete, or if nothing was recorded.
  bool done() const;
  /// Blocks the caller until done().
  void synchronize() const;

 private:
  friend class Stream;
  std::shared_ptr<void> handle_;  // device only; made at the first record()
};

/// An ordered queue of work in one memory space; the first argument of every kernel. A copy denotes
/// the same queue.
class Stream {
 public:
  /// A new queue that waits for no other. An Error if there is no such device.
  explicit Stream(MemorySpace space = MemorySpace::host);
  MemorySpace space() const { return space_; }
  /// Work issued from here on starts after `event`.
  void wait(const Event& event) const;
  /// Blocks the caller until all work issued so far is complete.
  void synchronize() const;
  /// Makes this stream's GPU the current one of the calling thread. Required in every thread other
  /// than the one that called bind_device().
  void attach_thread() const;
  /// The backend's handle; null on the host.
  void* handle() const { return handle_.get(); }

 private:
  MemorySpace space_;
  std::shared_ptr<void> handle_;
};

/// Owned memory, zeroed. Alignment on the host is 64 bytes, 4096 bytes for sizes from 4096 on
/// (direct disk I/O), and 2 MiB for sizes from 2 MiB on; the latter are mappings of their own,
/// marked for huge pages and unmapped with the buffer. Alignment on a device is 256 bytes.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, MemorySpace space = MemorySpace::host);
  /// Host memory that is not zeroed. Its pages are allocated when first written, so that a caller
  /// who fills it piece by piece starts at once.
  static Buffer unwritten(std::size_t bytes);
  /// Page-locked host memory: copies to and from a device run at full speed without blocking the
  /// host. Without a device it is ordinary host memory. Its destructor waits for the device's
  /// pending work.
  static Buffer pinned(std::size_t bytes);
  /// Host memory to stage data for `space`: pinned if that is a device's.
  static Buffer beside(MemorySpace space, std::size_t bytes) {
    return space == MemorySpace::device ? pinned(bytes) : Buffer(bytes);
  }
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Bytes that a Buffer of `bytes` occupies on the host: whole cache lines, pages or huge pages.
  static std::size_t footprint(std::size_t bytes);
  MemorySpace space() const { return space_; }
  /// A row-major view of the first elements.
  Tensor tensor(DType dtype, const Shape& shape) const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  MemorySpace space_ = MemorySpace::host;
  bool pinned_ = false;
};

/// The stream for work on `tensor` in a run whose stream is `stream`: the host's stream if the
/// tensor is on the host, as offloaded tensors are.
inline Stream stream_for(const Tensor& tensor, const Stream& stream) {
  return tensor.space() == stream.space() ? stream : Stream(tensor.space());
}

/// dst = src; same type and element count, both contiguous. They may be in different memory spaces
/// if `stream` is a device's, and may overlap on the host.
void copy(const Stream& stream, const Tensor& dst, const Tensor& src);
/// Sets all bytes of a contiguous tensor to zero; it must be in the stream's memory space.
void fill_zero(const Stream& stream, const Tensor& tensor);

}  // namespace triax
