// SPDX-License-Identifier: Apache-2.0
#pragma once
// Engine interface of NodeCommunicator: collectives that the ranks themselves advance.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/base/tensor.hpp"

namespace triax {

/// All ranks of a group begin the same operations in the same order; several may be under way. No
/// call waits. Sums do not depend on timing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// True if the ranks of each node share memory, the same on all ranks; refusal() says why not.
  virtual bool usable() const = 0;
  virtual const std::string& refusal() const = 0;
  /// Number of ranks that share memory: the whole group, or the ranks of one node.
  virtual int ranks_sharing() const = 0;
  /// True if all_reduce accepts this number of elements.
  virtual bool divides(std::int64_t elements) const = 0;

  // Each call begins an operation and returns its ticket: over(ticket) is true once it is complete.
  // Tensors are as in Communicator, and not empty.
  virtual std::uint64_t all_reduce(const Tensor& data) = 0;
  virtual std::uint64_t reduce_scatter(const Tensor& output, const Tensor& input) = 0;
  /// Gathers `bytes` bytes at offset `begin` of each rank's equal shard of `whole`. This rank's are
  /// read from `own`, which may be their location in `whole`.
  virtual std::uint64_t all_gather(const Tensor& whole, std::int64_t begin, std::int64_t bytes,
                                   const std::byte* own) = 0;
  virtual bool over(std::uint64_t operation) const = 0;

  /// Does all work that is possible now; returns false if there was none.
  virtual bool advance() = 0;
  /// True if another rank is in its wait() or test() now, that is between attend(true) and
  /// attend(false); false if unknown.
  virtual bool others_attend() const = 0;
  virtual void attend(bool here) = 0;
};

}  // namespace triax
