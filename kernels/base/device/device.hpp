#pragma once
// Where memory lies and in which order work on it runs. On the host a stream is the calling thread:
// work is complete when the call returns, and events are always done. On a device a stream is a
// queue: calls return at once, and events order the queues. Which bodies stand behind the device is
// chosen when the program is built (device_backend.hpp).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/base/tensor.hpp"

namespace triax {

class Stream;

/// GPUs that this process can use: 0 in a build without CUDA and where there is no driver.
int device_count();
/// Makes GPU `index` that of this process: streams and device memory made from here on are its. An
/// Error where there is no such GPU.
void bind_device(int index);

/// Tells the GPUs of a machine apart, whatever their numbers in a process.
struct DevicePlace {
  std::int64_t address = 0;  // on PCI: (domain * 256 + bus) * 32 + device
  std::int64_t part = 0;     // by its UUID: several at one address where MIG has cut the GPU
};

/// What is known of the GPU that this process is bound to.
struct DeviceFacts {
  std::string name;  // "NVIDIA H200"
  DevicePlace place;
  std::int64_t total_bytes = 0, free_bytes = 0;  // of its memory, now
};
DeviceFacts device_facts();

/// A point in a stream's work. A copy is the same point.
class Event {
 public:
  void record(const Stream& stream);
  /// True when the work before the recorded point is complete; so is that before no point at all.
  bool done() const;
  /// Blocks the caller until it is.
  void synchronize() const;

 private:
  friend class Stream;
  std::shared_ptr<void> handle_;  // of a device, made when first recorded there
};

/// An ordered queue of work in one memory space. Kernels take it first. A copy is the same queue.
class Stream {
 public:
  /// A queue of its own, which waits for no other; an Error where there is no such device.
  explicit Stream(MemorySpace space = MemorySpace::host);
  MemorySpace space() const { return space_; }
  /// Work issued from here on starts after `event`.
  void wait(const Event& event) const;
  /// Blocks the caller until all work issued so far is complete.
  void synchronize() const;
  /// Makes the GPU of this stream that of the calling thread: first in a thread that is not the one
  /// of bind_device().
  void attach_thread() const;
  /// What the backend of the device knows it by; null on the host.
  void* handle() const { return handle_.get(); }

 private:
  MemorySpace space_;
  std::shared_ptr<void> handle_;
};

/// Owned memory, zeroed. On the host aligned to 64 bytes, to 4096 from that size on (disk I/O past
/// the page cache), to 2 MiB from that size on, mapped for it alone, marked for huge pages and
/// given back with it; on a device to 256.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, MemorySpace space = MemorySpace::host);
  /// Host memory that is not zeroed: its pages come as they are first written, so that who fills it
  /// bit by bit begins at once.
  static Buffer unwritten(std::size_t bytes);
  /// Host memory for copies to and from a device at full speed that do not hold up the host; where
  /// there is none, like any other. Its end, as that of a device's, waits for what the device does.
  static Buffer pinned(std::size_t bytes);
  /// Host memory through which data come from and go to memory of `space`: pinned for a device's.
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
  /// What a Buffer of so many bytes takes of the machine: whole lines, pages or huge pages.
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

/// The stream for work on `tensor` in a run whose stream is `stream`: the host's where the tensor
/// is there, as what a run on a device has offloaded.
inline Stream stream_for(const Tensor& tensor, const Stream& stream) {
  return tensor.space() == stream.space() ? stream : Stream(tensor.space());
}

/// dst = src, same type and element count, both contiguous. They may lie in different spaces when
/// the stream is a device's; on the host they may overlap.
void copy(const Stream& stream, const Tensor& dst, const Tensor& src);
/// All bytes of a contiguous tensor, in the stream's space, to zero.
void fill_zero(const Stream& stream, const Tensor& tensor);

}  // namespace triax
