#include "kernels/base/device.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace triax {

void Event::record(const Stream& stream) {
  space_ = stream.space();
}

Stream::Stream(MemorySpace space) : space_(space) {
  check(space == MemorySpace::host, "a stream in device memory in a build without CUDA");
}

void Stream::wait(const Event&) const {}
void Stream::synchronize() const {}

namespace {
constexpr std::size_t cache_line = 64;
constexpr std::size_t page = 4096;  // what direct disk I/O asks for
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t alignment_of(std::size_t bytes) {
  return bytes >= huge_page ? huge_page : bytes >= page ? page : cache_line;
}
}  // namespace

std::size_t Buffer::footprint(std::size_t bytes) {
  const std::size_t alignment = alignment_of(bytes);
  return (bytes + alignment - 1) / alignment * alignment;
}

Buffer::Buffer(std::size_t bytes, MemorySpace space) : bytes_(bytes), space_(space) {
  check(space == MemorySpace::host, "device memory in a build without CUDA");
  if (bytes == 0) return;
  const std::size_t alignment = alignment_of(bytes);
  const std::size_t rounded = footprint(bytes);
  data_ = std::aligned_alloc(alignment, rounded);
  if (data_ == nullptr)
    throw Error(fmt::format("cannot allocate {} bytes of host memory", bytes), "out of memory",
                "Use more ranks, a smaller micro-batch, or activation checkpointing");
  if (alignment == huge_page) madvise(data_, rounded, MADV_HUGEPAGE);
  std::memset(data_, 0, rounded);
}

Buffer::~Buffer() {
  std::free(data_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      space_(other.space_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(space_, other.space_);
  return *this;
}

Tensor Buffer::tensor(DType dtype, const Shape& shape) const {
  Tensor view(data_, dtype, shape, space_);
  check(static_cast<std::size_t>(view.bytes()) <= bytes_, "view of {} bytes in a buffer of {}",
        view.bytes(), bytes_);
  return view;
}

void copy(const Stream&, const Tensor& dst, const Tensor& src) {
  check(dst.dtype() == src.dtype() && dst.elements() == src.elements() && dst.contiguous() &&
            src.contiguous(),
        "copy of {} to {}", src.shape(), dst.shape());
  if (dst.data() != src.data() && src.bytes() > 0)
    std::memmove(dst.data(), src.data(), static_cast<std::size_t>(src.bytes()));
}

void fill_zero(const Stream&, const Tensor& tensor) {
  check(tensor.contiguous(), "fill of a strided view");
  if (tensor.bytes() > 0) std::memset(tensor.data(), 0, static_cast<std::size_t>(tensor.bytes()));
}

}  // namespace triax
