// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interface of a ZeRO-3 parameter shard that is in compute memory only for a while.
#include <functional>

#include "src/state/offload/offload_store.hpp"

namespace triax {

class StoredShard {
 public:
  StoredShard() = default;
  virtual ~StoredShard() = default;
  StoredShard(const StoredShard&) = delete;
  StoredShard& operator=(const StoredShard&) = delete;

  // The shard is in compute memory from start_load() (for `stream`: after wait_load()) to unload()
  // or wait_save(). Error if the disk fails.
  virtual void start_load() = 0;
  /// The shard: (elements), valid until unload() or wait_save().
  virtual Tensor wait_load(const Stream& stream) = 0;
  virtual void unload(const Stream& stream) = 0;
  /// `stepped_on_host`: the values to save are in on_host(), else in the tensor from wait_load().
  virtual void start_save(const Stream& stream, bool stepped_on_host) = 0;
  virtual void wait_save() = 0;
  /// Makes progress on transfers between disk and device.
  virtual void progress() {}

  /// The shard in host memory: always available if it is kept there, else while it is loaded. The
  /// host may change it; nothing reads it until it is loaded again or saved.
  virtual Tensor on_host() = 0;

  /// Calls visit(shard) with the shard in host memory. Use between steps. It is zeroed first for
  /// Access::replace, and its changes are kept unless for Access::read.
  using Visitor = std::function<void(const Tensor&)>;
  virtual void visit(const Stream& stream, Access access, const Visitor& visit) = 0;
};

}  // namespace triax
