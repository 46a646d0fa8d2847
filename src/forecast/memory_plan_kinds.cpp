// SPDX-License-Identifier: Apache-2.0
// Allocations by kind, and by region of a device's memory.
#include "kernels/base/device/stream_workspace.hpp"
#include "src/forecast/memory_plan.hpp"

namespace triax {
namespace {

std::int64_t footprint(std::int64_t bytes) {
  return static_cast<std::int64_t>(Buffer::footprint(static_cast<std::size_t>(bytes)));
}

// A region of a device's memory, with the name that its owner uses.
struct DevicePart {
  const char* name;
  std::int64_t KindBytes::*kind;
  std::int64_t bytes;
};

std::vector<DevicePart> device_parts(const Allocations& is) {
  return {
      {"streams", &KindBytes::buffers, workspace_bytes()},
      {"tables", &KindBytes::buffers, is.tables},
      {"parameters", &KindBytes::parameters, is.state.parameters},
      {"gradients", &KindBytes::gradients, is.state.gradients},
      {"whole gradients", &KindBytes::gathered, is.state.whole_gradients},
      {"gathered parameters", &KindBytes::gathered, is.state.gathered},
      {"loaded parameters", &KindBytes::gathered, is.state.stored.loaded},
      {"moments", &KindBytes::optimizer, is.optimizer.moments - is.optimizer.host_moments},
      {"master weights", &KindBytes::master, is.optimizer.master - is.optimizer.host_master},
      {"orthogonalization", &KindBytes::buffers, is.optimizer.orthogonalization},
      {"activations", &KindBytes::activations, is.step.boundaries},
      {"frames", &KindBytes::activations, is.step.frames},
      {"scratch", &KindBytes::buffers, is.step.scratch},
      {"batches", &KindBytes::buffers, is.batches},
      {"numbers", &KindBytes::buffers, is.numbers},
  };
}

// Host memory of a run on a GPU.
KindBytes beside_gpu(const Allocations& is, std::int64_t program) {
  KindBytes bytes;
  bytes.parameters = footprint(is.state.stored.hosted);
  bytes.activations = footprint(is.step.inputs);
  bytes.master = footprint(is.optimizer.host_master);
  bytes.optimizer = footprint(is.optimizer.host_moments);
  bytes.buffers = footprint(is.state.stored.buffers) + footprint(is.optimizer.buffers) +
                  is.optimizer.host_step + footprint(is.snapshot) + is.batches + is.plans +
                  is.staging + program;
  return bytes;
}

}  // namespace

std::int64_t KindBytes::total() const {
  std::int64_t sum = 0;
  for (const MemoryKind& kind : memory_kinds) sum += this->*kind.bytes;
  return sum;
}

KindBytes& KindBytes::operator+=(const KindBytes& other) {
  for (const MemoryKind& kind : memory_kinds) this->*kind.bytes += other.*kind.bytes;
  return *this;
}

KindBytes& KindBytes::operator-=(const KindBytes& other) {
  for (const MemoryKind& kind : memory_kinds) this->*kind.bytes -= other.*kind.bytes;
  return *this;
}

KindBytes RankMemory::in_memory() const {
  if (space == MemorySpace::device) return host;
  KindBytes both = device;
  return both += host;
}

KindBytes by_kind(const Allocations& allocations, std::int64_t program) {
  if (allocations.space == MemorySpace::device) {
    KindBytes both = on_gpu_by_kind(allocations);
    return both += beside_gpu(allocations, program);
  }
  KindBytes bytes;
  bytes.parameters = footprint(allocations.state.parameters);
  bytes.gradients = footprint(allocations.state.gradients);
  bytes.master = footprint(allocations.optimizer.master);
  bytes.optimizer = footprint(allocations.optimizer.moments);
  bytes.gathered =
      footprint(allocations.state.whole_gradients) + footprint(allocations.state.gathered);
  bytes.activations = footprint(allocations.step.boundaries) + footprint(allocations.step.frames);
  bytes.buffers =
      footprint(allocations.step.scratch) + footprint(allocations.state.stored.buffers) +
      footprint(allocations.optimizer.buffers) + allocations.optimizer.host_step +
      footprint(allocations.optimizer.orthogonalization) + footprint(allocations.snapshot) +
      allocations.batches + allocations.tables + allocations.plans + allocations.staging + program;
  return bytes;
}

KindBytes on_gpu_by_kind(const Allocations& allocations) {
  KindBytes bytes;
  if (allocations.space == MemorySpace::host) return bytes;
  for (const DevicePart& part : device_parts(allocations))
    bytes.*part.kind += DeviceArena::footprint(part.bytes);
  return bytes;
}

std::vector<ArenaPart> arena_parts(const Allocations& allocations) {
  std::vector<ArenaPart> parts;
  for (const DevicePart& part : device_parts(allocations)) parts.push_back({part.name, part.bytes});
  return parts;
}

KindBytes stored_by_kind(const Allocations& allocations) {
  KindBytes bytes;
  bytes.parameters = allocations.state.stored.stored;
  bytes.master = allocations.optimizer.stored_master;
  bytes.optimizer = allocations.optimizer.stored_moments;
  return bytes;
}

}  // namespace triax
