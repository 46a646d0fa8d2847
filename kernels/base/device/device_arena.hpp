// SPDX-License-Identifier: Apache-2.0
#pragma once
// All device memory of a training run as one allocation, cut into named regions in the order and
// sizes of the memory plan, so that the memory in use is exactly the memory planned.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/device/device.hpp"

namespace triax {

/// One named region of the arena; pieces are taken from it one after another.
struct ArenaPart {
  std::string name;
  std::int64_t bytes = 0;
};

/// The allocation. Its pieces are views and live as long as it does.
class DeviceArena {
 public:
  /// Alignment of pieces in bytes: that of the device's own allocations, which its libraries
  /// expect.
  static constexpr std::int64_t alignment = 256;
  /// Bytes that a piece occupies in its region.
  static constexpr std::int64_t footprint(std::int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  /// Allocates the sum of `parts`, each rounded up to the alignment. An Error lists the regions if
  /// the device does not have enough memory.
  explicit DeviceArena(const std::vector<ArenaPart>& parts);
  DeviceArena(const DeviceArena&) = delete;  // views point into it
  DeviceArena& operator=(const DeviceArena&) = delete;

  /// The next `bytes` of a region, zeroed, as (bytes) u8; null if `bytes` is 0. An Error names the
  /// region if it has too little left or is not in the list.
  Tensor take(std::string_view part, std::int64_t bytes);
  /// An Error names the first region that was not taken completely.
  void check_full() const;
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }

 private:
  struct Section {
    ArenaPart part;
    std::int64_t begin = 0, taken = 0;
  };
  std::vector<Section> sections_;
  Buffer memory_;
};

/// A piece of memory: either a view into an arena, which must outlive it, or a Buffer of its own.
class Memory {
 public:
  Memory() = default;
  explicit Memory(Buffer own) : own_(std::move(own)), bytes_(own_.bytes()), space_(own_.space()) {
    data_ = own_.data();
  }
  explicit Memory(const Tensor& piece)
      : data_(piece.data()),
        bytes_(static_cast<std::size_t>(piece.bytes())),
        space_(piece.space()) {}
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  MemorySpace space() const { return space_; }
  /// A row-major view of the first elements.
  Tensor tensor(DType dtype, const Shape& shape) const;

 private:
  Buffer own_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  MemorySpace space_ = MemorySpace::host;
};

/// Source of a component's memory: `arena` if that is not null, otherwise one Buffer per piece.
struct MemorySource {
  // NOLINTNEXTLINE(google-explicit-constructor): a memory space alone is a source
  MemorySource(MemorySpace where = MemorySpace::host, DeviceArena* of = nullptr)
      : space(where), arena(of) {}
  /// Host memory to stage data for `space` (Buffer::beside).
  static MemorySource beside(MemorySpace space) {
    MemorySource source;
    source.pinned = space == MemorySpace::device;
    return source;
  }
  MemorySpace space;
  DeviceArena* arena;
  bool pinned = false;  // host memory, in a run on a device
  /// A zeroed piece of region `part`.
  Memory take(std::string_view part, std::size_t bytes) const;
};

}  // namespace triax
