// SPDX-License-Identifier: Apache-2.0
#pragma once
// Locations of parameter shards while the compute does not need them. Constructor arguments must
// outlive the objects.
#include <utility>

#include "src/state/offload/loaded_shard.hpp"
#include "src/state/offload/stored_shard.hpp"

namespace triax {

/// On a disk, for compute on the host: the store's buffer is the shard.
class ShardOnDisk final : public StoredShard {
 public:
  ShardOnDisk(OffloadStore& file, int unit) : file_(file), unit_(unit) {}
  void start_load() override { file_.start_read(unit_); }
  Tensor wait_load(const Stream& stream) override;
  void unload(const Stream&) override { file_.release(unit_); }
  void start_save(const Stream&, bool) override { file_.start_write(unit_); }
  void wait_save() override { file_.wait_write(unit_); }
  Tensor on_host() override { return file_.at(unit_, 0); }
  void visit(const Stream& stream, Access access, const Visitor& visit) override;

 private:
  OffloadStore& file_;
  int unit_;
};

/// In host memory, for compute on a device.
class ShardInHost final : public StoredShard {
 public:
  /// `memory`: the shard, pinned.
  ShardInHost(const Tensor& memory, LoadedShard loaded)
      : memory_(memory), loaded_(std::move(loaded)) {}
  void start_load() override;
  Tensor wait_load(const Stream& stream) override { return loaded_.wait(stream); }
  void unload(const Stream& stream) override { loaded_.give_up(stream); }
  void start_save(const Stream& stream, bool stepped_on_host) override;
  void wait_save() override { loaded_.give_up(); }
  Tensor on_host() override;
  void visit(const Stream& stream, Access access, const Visitor& visit) override;

 private:
  Tensor memory_;
  LoadedShard loaded_;
};

/// On a disk, for compute on a device: copied through the store's buffer in host memory.
class ShardOnDiskOfDevice final : public StoredShard {
 public:
  ShardOnDiskOfDevice(OffloadStore& file, int unit, LoadedShard loaded)
      : file_(file), unit_(unit), loaded_(std::move(loaded)) {}
  void start_load() override;
  Tensor wait_load(const Stream& stream) override;
  void unload(const Stream& stream) override;
  void start_save(const Stream& stream, bool stepped_on_host) override;
  void wait_save() override;
  void progress() override;
  Tensor on_host() override;
  void visit(const Stream& stream, Access access, const Visitor& visit) override;

 private:
  enum class Transfer : std::uint8_t { idle, reading, writing };  // between disk and device
  void move_up();
  void write();

  OffloadStore& file_;
  int unit_;
  LoadedShard loaded_;
  Transfer transfer_ = Transfer::idle;
};

}  // namespace triax
