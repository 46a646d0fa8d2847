// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copy of a rank's share of a checkpoint, so that training continues while it is written.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/base/device/device.hpp"

namespace triax {

/// Works in two steps (CheckFreq, Mohan et al. 2021): add() records sources, copy() copies them. So
/// the copy too overlaps with training, as long as that only reads the state.
class CheckpointSnapshot {
 public:
  /// Copies a share of a tensor to `to`, (elements). It may only copy memory, as any thread may
  /// call it. With state on a device it enqueues the copies on `stream`, which is not the compute
  /// stream.
  using Source = std::function<void(const Stream& stream, const Tensor& to)>;

  /// Allocates `bytes` of host memory: the sum of footprint() over all pieces. `space`: memory
  /// space of the state.
  explicit CheckpointSnapshot(std::int64_t bytes, MemorySpace space = MemorySpace::host);
  /// Memory for a piece of `bytes`: rounded up to a cache line, and from 64 KiB on one page more,
  /// for its alignment.
  static std::int64_t footprint(std::int64_t bytes);

  void clear();
  /// Adds a share of a tensor for CheckpointWriter::write(). The source must not change until
  /// copy() has returned.
  void add(const std::string& name, std::vector<hdf5::Box> boxes, DType type, Source source);
  /// As above, from contiguous memory.
  void add(const std::string& name, std::vector<hdf5::Box> boxes, const Tensor& data);
  /// File offset of the first byte of a piece (CheckpointWriter::offset).
  using Offset =
      std::function<std::int64_t(const std::string& name, const std::vector<hdf5::Box>& boxes)>;
  /// Copies the pieces added since the last copy(). Pieces of 64 KiB and more get the address of
  /// their file offset modulo the page. After an Error nothing is copied until clear(): the state
  /// may have changed.
  void copy(const Stream& stream, const Offset& offset = {});

  /// Whether all pieces are copied.
  bool whole() const { return !broken_ && copied_ == pieces_.size(); }
  /// Calls visit(name, boxes, data) for each piece in the order of add(). All must be copied.
  template <class Visit>
  void each(Visit&& visit) const {
    check_copied();
    for (const Piece& piece : pieces_) visit(piece.name, piece.boxes, piece.data);
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }

 private:
  struct Piece {
    std::string name;
    std::vector<hdf5::Box> boxes;
    Tensor data;
    Source source;
  };
  void check_copied() const;

  Buffer memory_;
  std::int64_t used_ = 0;
  std::vector<Piece> pieces_;
  std::size_t copied_ = 0;   // number of pieces
  std::int64_t placed_ = 0;  // bytes of used_ that copied pieces take
  bool broken_ = false;      // a copy failed
};

}  // namespace triax
