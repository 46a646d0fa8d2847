#pragma once
// `triax checkpoint verify`: the data of a checkpoint against its checksums.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// A block of a tensor whose data (or whose checksum) are not those that were written.
struct DamagedBlock {
  std::string tensor;
  std::int64_t block;                 // counted from 0
  std::int64_t begin_byte, end_byte;  // within the tensor's data, row-major
  bool operator==(const DamagedBlock&) const = default;
};

struct Verification {
  bool has_checksums = true;  // false: a file of format 1, which nothing can be said of
  std::int64_t bytes = 0;     // of tensor data, read once
  double seconds = 0;
  std::vector<DamagedBlock> damaged;  // in the order of names and blocks
};

/// Bytes done and to do, of this rank's share.
using VerifyProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Collective; the same on every rank. The ranks share out the blocks, and each has as many on
/// their way from the disk as a load has (parts_ahead). Error as CheckpointReader's, and where the
/// list of tensors is damaged or data cannot be read. MPI_COMM_NULL: one process. `group`: of the
/// tensors whose names begin so alone; empty: all.
Verification verify_checkpoint(const std::string& path, const Ranks& ranks,
                               const VerifyProgress& progress = {}, const std::string& group = {});

/// The damage, for people: the first ten blocks, a line each, and how many more there are.
std::string text_of(const std::vector<DamagedBlock>& damaged);

/// Collective. verify_checkpoint, and an Error that names damaged blocks where there are any.
/// `group`: of the tensors whose names begin so alone; empty: all. False where the file has no
/// checksums.
bool require_whole(const std::string& path, const Ranks& ranks, const std::string& group = {});

}  // namespace triax
