#pragma once
// What can be done with a shard of ZeRO-3's parameters that is beside the compute for a while only.
#include <functional>

#include "src/state/offload/offload_store.hpp"

namespace triax {

class StoredShard {
 public:
  StoredShard() = default;
  virtual ~StoredShard() = default;
  StoredShard(const StoredShard&) = delete;
  StoredShard& operator=(const StoredShard&) = delete;

  // It is beside the compute from start_load, for `stream` after wait_load, to unload or wait_save.
  // Error where the disk fails.
  virtual void start_load() = 0;
  /// The shard: (elements), until it is given up.
  virtual Tensor wait_load(const Stream& stream) = 0;
  virtual void unload(const Stream& stream) = 0;
  /// `stepped_on_host`: what is to be saved is on_host(), else what wait_load gave.
  virtual void start_save(const Stream& stream, bool stepped_on_host) = 0;
  virtual void wait_save() = 0;
  /// Lets what is under way between disk and device move on.
  virtual void progress() {}

  /// The shard in the host's memory: always where it is kept there, else while it is loaded. The
  /// host may change it, and nothing reads it any more, until it is loaded again or saved.
  virtual Tensor on_host() = 0;

  /// Calls visit(shard) with it in the host's memory, between steps: zero before for
  /// Access::replace, and kept as it is after, but for Access::read.
  using Visitor = std::function<void(const Tensor&)>;
  virtual void visit(const Stream& stream, Access access, const Visitor& visit) = 0;
};

}  // namespace triax
