#pragma once
// A rank's part of a checkpoint, copied, so that training can go on while it is written.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/base/device/device.hpp"

namespace triax {

/// Two steps, so that the copy too can be made while training goes on, as long as that only reads
/// the state (CheckFreq of Mohan et al. 2021): add() says what is to be copied, copy() does it.
class CheckpointSnapshot {
 public:
  /// Fills `to`, (elements), with a part of a tensor. Copies of memory only, for it is called by
  /// any thread; with state on a device they are put on `stream`, which is not the compute's.
  using Source = std::function<void(const Stream& stream, const Tensor& to)>;

  /// Takes `bytes` of host memory for good: footprint() of every piece added up. `space`: where the
  /// state is.
  explicit CheckpointSnapshot(std::int64_t bytes, MemorySpace space = MemorySpace::host);
  /// What a piece takes at most: its bytes, up to the next cache line, and from 64 KiB on a page to
  /// be moved in.
  static std::int64_t footprint(std::int64_t bytes);

  void clear();
  /// A part of a tensor, as CheckpointWriter::write takes it, which may not change until copy()
  /// has returned.
  void add(const std::string& name, std::vector<hdf5::Box> boxes, DType type, Source source);
  /// The same of memory that has it in one run.
  void add(const std::string& name, std::vector<hdf5::Box> boxes, const Tensor& data);
  /// Where the file has the first byte of a piece.
  using Offset =
      std::function<std::int64_t(const std::string& name, const std::vector<hdf5::Box>& boxes)>;
  /// Copies what was added since the last copy. Large pieces lie in their pages of memory as in the
  /// file's. After an Error nothing more is copied until clear(): the state may have changed.
  void copy(const Stream& stream, const Offset& offset = {});

  /// All that was added is copied.
  bool whole() const { return !broken_ && copied_ == pieces_.size(); }
  /// visit(name, boxes, data) for each part, in the order of add(); all are copied.
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
  std::size_t copied_ = 0;   // of the pieces
  std::int64_t placed_ = 0;  // of used_, by what is copied
  bool broken_ = false;      // a copy failed
};

}  // namespace triax
