#pragma once
// What the bodies of kernels ask of a stream of the device.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/base/device/device_arena.hpp"

namespace triax::cuda {

/// The cudaStream_t of a device's stream.
void* native_stream(const Stream& stream);

/// Bytes of shared memory that a block may have on the stream's device.
std::size_t shared_memory_of(const Stream& stream);

/// What a stream keeps: made by whoever first needs it, and ended with the stream. A stream is one
/// thread's at a time, and so are these.
enum class Kept : std::size_t { scratch, workspace, product_sums, blas, attention, times };
inline constexpr std::size_t kept_count = 6;
std::shared_ptr<void>& kept_by(const Stream& stream, Kept what);

/// The T that a stream keeps, made of `arguments` by the first call.
template <class T, class... Arguments>
T& kept_by(const Stream& stream, Kept what, const Arguments&... arguments) {
  std::shared_ptr<void>& place = kept_by(stream, what);
  if (!place) place = std::make_shared<T>(arguments...);
  return *static_cast<T*>(place.get());
}

/// What kernels have for themselves where their interface gives them nothing (what one leaves
/// there, the next of the same stream may read), what the BLAS has, and float32 sums of products.
inline constexpr std::size_t stream_scratch_bytes = 16384;
inline constexpr std::size_t blas_workspace_bytes = std::size_t{32} << 20;
inline constexpr std::size_t product_sums_bytes = std::size_t{16} << 20;

struct StreamMemory {
  Kept what;
  std::size_t bytes;
};
inline constexpr std::array<StreamMemory, 3> stream_memories = {
    {{Kept::scratch, stream_scratch_bytes},
     {Kept::workspace, blas_workspace_bytes},
     {Kept::product_sums, product_sums_bytes}}};

/// The memory of a stream by purpose: what set_workspace() gave it, else taken now.
const Memory& memory_of(const Stream& stream, Kept what);

}  // namespace triax::cuda
