// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/device/device.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/base/device/device_backend.hpp"

namespace triax {

int device_count() {
  return device_backend::count();
}
void bind_device(int index) {
  device_backend::bind(index);
}
DeviceFacts device_facts() {
  return device_backend::facts();
}

void Event::record(const Stream& stream) {
  if (stream.space() == MemorySpace::host) {
    handle_.reset();
    return;
  }
  if (!handle_) handle_ = device_backend::make_event();
  device_backend::record(handle_.get(), stream.handle());
}

bool Event::done() const {
  return !handle_ || device_backend::done(handle_.get());
}

void Event::synchronize() const {
  if (handle_) device_backend::synchronize_event(handle_.get());
}

Stream::Stream(MemorySpace space) : space_(space) {
  if (space == MemorySpace::device) handle_ = device_backend::make_stream();
}

void Stream::wait(const Event& event) const {
  if (!handle_)
    event.synchronize();
  else if (event.handle_)
    device_backend::wait(handle_.get(), event.handle_.get());
}

void Stream::synchronize() const {
  if (handle_) device_backend::synchronize_stream(handle_.get());
}

void Stream::attach_thread() const {
  if (handle_) device_backend::attach_thread(handle_.get());
}

namespace {
constexpr std::size_t cache_line = 64;
constexpr std::size_t page = 4096;  // direct disk I/O requires this alignment
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t alignment_of(std::size_t bytes) {
  return bytes >= huge_page ? huge_page : bytes >= page ? page : cache_line;
}

// Maps memory afresh, so that it comes in huge pages where the system has them. malloc may reuse
// memory in small pages scattered over the machine; those stay small, and a disk fills them at half
// the speed. Null if there is no memory.
void* map_for_huge_pages(std::size_t bytes) {
  void* mapped =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(begin) % huge_page;
  const std::size_t before = past == 0 ? 0 : huge_page - past;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, huge_page - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

void* allocate_on_host(std::size_t bytes) {
  const std::size_t alignment = alignment_of(bytes);
  const std::size_t rounded = Buffer::footprint(bytes);
  void* memory =
      alignment == huge_page ? map_for_huge_pages(rounded) : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr)
    throw Error(fmt::format("cannot allocate {} bytes of host memory", bytes), "out of memory",
                "Use more ranks, a smaller micro-batch, or activation checkpointing");
  return memory;
}

void free_on_host(void* memory, std::size_t bytes) {
  if (memory != nullptr && alignment_of(bytes) == huge_page)
    munmap(memory, Buffer::footprint(bytes));
  else
    std::free(memory);
}
}  // namespace

std::size_t Buffer::footprint(std::size_t bytes) {
  const std::size_t alignment = alignment_of(bytes);
  return (bytes + alignment - 1) / alignment * alignment;
}

Buffer::Buffer(std::size_t bytes, MemorySpace space) : bytes_(bytes), space_(space) {
  if (bytes == 0) return;
  if (space != MemorySpace::host) {
    data_ = device_backend::allocate(bytes);
    return;
  }
  data_ = allocate_on_host(bytes);
  std::memset(data_, 0, footprint(bytes));
}

Buffer Buffer::unwritten(std::size_t bytes) {
  Buffer buffer;
  if (bytes > 0) buffer.data_ = allocate_on_host(bytes);
  buffer.bytes_ = bytes;
  return buffer;
}

// The memory takes whole pages: pages are what is locked, so two buffers may not share one.
Buffer Buffer::pinned(std::size_t bytes) {
  if (bytes == 0 || device_count() == 0) return Buffer(bytes);
  const std::size_t taken = std::max(bytes, page);
  Buffer buffer(taken);
  device_backend::pin(buffer.data_, footprint(taken));
  buffer.pinned_ = true;
  buffer.bytes_ = bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (pinned_) device_backend::unpin(data_);
  if (space_ == MemorySpace::host)
    free_on_host(data_, bytes_);
  else
    device_backend::release(data_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      space_(other.space_),
      pinned_(std::exchange(other.pinned_, false)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(space_, other.space_);
  std::swap(pinned_, other.pinned_);
  return *this;
}

Tensor Buffer::tensor(DType dtype, const Shape& shape) const {
  Tensor view(data_, dtype, shape, space_);
  check(static_cast<std::size_t>(view.bytes()) <= bytes_, "view of {} bytes in a buffer of {}",
        view.bytes(), bytes_);
  return view;
}

void copy(const Stream& stream, const Tensor& dst, const Tensor& src) {
  check(dst.dtype() == src.dtype() && dst.elements() == src.elements() && dst.contiguous() &&
            src.contiguous(),
        "copy of {} to {}", src.shape(), dst.shape());
  if (dst.data() == src.data() || src.bytes() == 0) return;
  const auto bytes = static_cast<std::size_t>(src.bytes());
  if (stream.space() == MemorySpace::device)
    return device_backend::copy(stream.handle(), dst.data(), src.data(), bytes);
  check(dst.space() == MemorySpace::host && src.space() == MemorySpace::host,
        "memory of a device copied on a stream of the host");
  std::memmove(dst.data(), src.data(), bytes);
}

void fill_zero(const Stream& stream, const Tensor& tensor) {
  check(tensor.contiguous(), "fill of a strided view");
  check(tensor.space() == stream.space(), "fill of memory elsewhere than the stream's");
  if (tensor.bytes() == 0) return;
  const auto bytes = static_cast<std::size_t>(tensor.bytes());
  if (stream.space() == MemorySpace::device)
    device_backend::fill_zero(stream.handle(), tensor.data(), bytes);
  else
    std::memset(tensor.data(), 0, bytes);
}

}  // namespace triax
