// SPDX-License-Identifier: Apache-2.0
#include "src/state/offload/shard_homes.hpp"

namespace triax {

Tensor ShardOnDisk::wait_load(const Stream&) {
  file_.wait_read(unit_);
  return on_host();
}

void ShardOnDisk::visit(const Stream& stream, Access access, const Visitor& visit) {
  file_.visit(stream, unit_, access, [&] { visit(on_host()); });
}

void ShardInHost::start_load() {
  loaded_.acquire();
  loaded_.move_up(memory_);
}

// After a skipped step the copy writes the bytes that are there already, so a checkpoint that reads
// them meanwhile is not disturbed.
void ShardInHost::start_save(const Stream& stream, bool stepped_on_host) {
  check(!stepped_on_host, "what is stepped in the host's memory is saved there");
  loaded_.move_down(stream, memory_);
}

Tensor ShardInHost::on_host() {
  loaded_.wait_moved();
  return memory_;
}

void ShardInHost::visit(const Stream&, Access access, const Visitor& visit) {
  const Tensor shard = on_host();
  if (access == Access::replace) fill_zero(Stream(), shard);
  visit(shard);
}

void ShardOnDiskOfDevice::start_load() {
  file_.start_read(unit_);
  loaded_.acquire();
  transfer_ = Transfer::reading;
}

// Throws if the disk failed.
void ShardOnDiskOfDevice::move_up() {
  file_.wait_read(unit_);
  loaded_.move_up(file_.at(unit_, 0));
  transfer_ = Transfer::idle;
}

Tensor ShardOnDiskOfDevice::wait_load(const Stream& stream) {
  if (transfer_ == Transfer::reading) move_up();
  return loaded_.wait(stream);
}

// The buffer returns to the disk's pool, so its copy to the device must be complete.
void ShardOnDiskOfDevice::unload(const Stream& stream) {
  loaded_.wait_moved();
  file_.release(unit_);
  loaded_.give_up(stream);
}

void ShardOnDiskOfDevice::start_save(const Stream& stream, bool stepped_on_host) {
  if (stepped_on_host) return write();
  loaded_.move_down(stream, file_.at(unit_, 0));
  transfer_ = Transfer::writing;
}

void ShardOnDiskOfDevice::write() {
  loaded_.wait_moved();
  file_.start_write(unit_);
  transfer_ = Transfer::idle;
}

void ShardOnDiskOfDevice::wait_save() {
  if (transfer_ == Transfer::writing) write();
  file_.wait_write(unit_);
  loaded_.give_up();
}

void ShardOnDiskOfDevice::progress() {
  if (transfer_ == Transfer::reading && file_.test_read(unit_)) move_up();
  if (transfer_ == Transfer::writing && loaded_.has_moved()) write();
}

Tensor ShardOnDiskOfDevice::on_host() {
  loaded_.wait_moved();
  return file_.at(unit_, 0);
}

// Between steps, no copy to or from the device is under way.
void ShardOnDiskOfDevice::visit(const Stream& stream, Access access, const Visitor& visit) {
  file_.visit(stream, unit_, access, [&] { visit(file_.at(unit_, 0)); });
}

}  // namespace triax
