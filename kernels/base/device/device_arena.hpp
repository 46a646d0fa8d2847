#pragma once
// All memory of a run on a device as one piece, taken once: cut into parts in the order and of the
// sizes that a plan lists, so that what was planned is what is there.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/device/device.hpp"

namespace triax {

/// A part of the piece: what is taken under one name, in one or several pieces.
struct ArenaPart {
  std::string name;
  std::int64_t bytes = 0;
};

class DeviceArena {
 public:
  /// What pieces begin at a multiple of: as the device's own allocations do, and as its libraries
  /// like it.
  static constexpr std::int64_t alignment = 256;
  /// Bytes that a piece takes of its part.
  static constexpr std::int64_t footprint(std::int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  /// Takes the sum of `parts`, each rounded up to the alignment. An Error that lists the parts
  /// where the device has no room for them.
  explicit DeviceArena(const std::vector<ArenaPart>& parts);
  DeviceArena(const DeviceArena&) = delete;  // views point into it
  DeviceArena& operator=(const DeviceArena&) = delete;

  /// The next `bytes` of a part, zeroed: (bytes) u8, null where that is 0. An Error that names the
  /// part where it has less left, or is not in the list.
  Tensor take(std::string_view part, std::int64_t bytes);
  /// An Error that names the first part that was not taken whole.
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

/// Memory of a part of a run: a piece of an arena, which outlives it, or a Buffer of its own.
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

/// Where a part of a run takes its memory from: an arena of that space, or (null) each piece by
/// itself.
struct MemorySource {
  MemorySource(MemorySpace where = MemorySpace::host, DeviceArena* of = nullptr)
      : space(where), arena(of) {}
  /// Of the host, through which data come from and go to memory of `space` (Buffer::beside).
  static MemorySource beside(MemorySpace space) {
    MemorySource source;
    source.pinned = space == MemorySpace::device;
    return source;
  }
  MemorySpace space;
  DeviceArena* arena;
  bool pinned = false;  // of the host, where there is a device
  /// Zeroed.
  Memory take(std::string_view part, std::size_t bytes) const;
};

}  // namespace triax
