#include "kernels/cuda/launch/stream.hpp"

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

void furnish(const Stream& stream, const MemorySource& source) {
  for (const auto& [what, bytes] : stream_memories) {
    std::shared_ptr<void>& place = kept_by(stream, what);
    check(!place, "a stream that is furnished has memory already");
    place = std::make_shared<Memory>(source.take(part, bytes));
  }
}

std::int64_t furnished_bytes() {
  std::int64_t bytes = 0;
  for (const auto& memory : stream_memories)
    bytes += DeviceArena::footprint(static_cast<std::int64_t>(memory.bytes));
  return bytes;
}

}  // namespace triax::cuda
