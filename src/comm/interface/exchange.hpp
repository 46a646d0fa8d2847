#pragma once
// Collectives that the ranks themselves move on, as NodeCommunicator has them done.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/base/tensor.hpp"

namespace triax {

/// All ranks of a group begin the same operations in the same order, and several may be under way.
/// Nothing here waits. Sums do not depend on timing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Whether the ranks of each node share memory; refusal() says why not. The same on all ranks.
  virtual bool usable() const = 0;
  virtual const std::string& refusal() const = 0;
  /// How many ranks, of all or of each node, share memory.
  virtual int ranks_sharing() const = 0;
  /// Whether all_reduce takes so many elements.
  virtual bool divides(std::int64_t elements) const = 0;

  // Each begins an operation, which is over where over(what it returned) is true. Tensors as
  // Communicator has them, not empty.
  virtual std::uint64_t all_reduce(const Tensor& data) = 0;
  virtual std::uint64_t reduce_scatter(const Tensor& output, const Tensor& input) = 0;
  /// Of each of the ranks' equal parts of `whole`, `bytes` from `begin` on; this rank's are read
  /// from `own`, which may be their place.
  virtual std::uint64_t all_gather(const Tensor& whole, std::int64_t begin, std::int64_t bytes,
                                   const std::byte* own) = 0;
  virtual bool over(std::uint64_t operation) const = 0;

  /// Does what can be done now; false where that is nothing.
  virtual bool advance() = 0;
  /// Whether another rank is in its wait(), or its test(), now: between attend(true) and
  /// attend(false). False where that is not known.
  virtual bool others_attend() const = 0;
  virtual void attend(bool here) = 0;
};

}  // namespace triax
