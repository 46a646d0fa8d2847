// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch/stream.hpp"

#include "kernels/base/device/stream_workspace.hpp"

namespace triax::cuda {
namespace {

constexpr std::string_view part = "streams";

const StreamMemory& memory_for(Kept what) {
  return stream_memories[static_cast<std::size_t>(what)];
}
static_assert([] {
  for (std::size_t i = 0; i < stream_memories.size(); ++i)
    if (static_cast<std::size_t>(stream_memories[i].what) != i) return false;
  return true;
}());

}  // namespace

const Memory& memory_of(const Stream& stream, Kept what) {
  std::shared_ptr<void>& place = kept_by(stream, what);
  if (!place)
    place = std::make_shared<Memory>(
        MemorySource(MemorySpace::device).take(part, memory_for(what).bytes));
  return *static_cast<const Memory*>(place.get());
}

}  // namespace triax::cuda

namespace triax {

void set_workspace(const Stream& stream, const MemorySource& source) {
  for (const auto& [what, bytes] : cuda::stream_memories) {
    std::shared_ptr<void>& place = cuda::kept_by(stream, what);
    check(!place, "the stream has a workspace already");
    place = std::make_shared<Memory>(source.take(cuda::part, bytes));
  }
}

std::int64_t workspace_bytes() {
  std::int64_t bytes = 0;
  for (const auto& memory : cuda::stream_memories)
    bytes += DeviceArena::footprint(static_cast<std::int64_t>(memory.bytes));
  return bytes;
}

}  // namespace triax
