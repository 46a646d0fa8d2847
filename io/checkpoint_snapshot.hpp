#pragma once
// A rank's part of a checkpoint, copied, so that training can go on while it is written.
#include <cstdint>
#include <string>
#include <vector>

#include "io/boxes.hpp"
#include "kernels/base/device.hpp"

namespace triax {

class CheckpointSnapshot {
 public:
  /// Takes `bytes` of memory for good: footprint() of every piece added up.
  explicit CheckpointSnapshot(std::int64_t bytes);
  /// What a piece takes: its bytes, up to the next cache line.
  static std::int64_t footprint(std::int64_t bytes);

  void clear();
  /// Copies a part of a tensor, as CheckpointWriter::write takes it.
  void add(const Stream& stream, const std::string& name, std::vector<hdf5::Box> boxes,
           const Tensor& data);
  /// visit(name, boxes, data) for each part, in the order of add().
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Piece& piece : pieces_) visit(piece.name, piece.boxes, piece.data);
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }

 private:
  struct Piece {
    std::string name;
    std::vector<hdf5::Box> boxes;
    Tensor data;
  };
  Buffer memory_;
  std::int64_t used_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace triax
