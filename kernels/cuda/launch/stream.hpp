// SPDX-License-Identifier: Apache-2.0
#pragma once
// Objects and memory that kernel bodies get from a device stream. Nothing is created after the
// first use of a shape.
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

/// Objects kept by a stream: created at first use, destroyed with the stream. Only one thread at a
/// time uses a stream and its objects.
enum class Kept : std::size_t { scratch, workspace, product_sums, blas, attention, times };
inline constexpr std::size_t kept_count = 6;
std::shared_ptr<void>& kept_by(const Stream& stream, Kept what);

/// The T kept by a stream, created from `arguments` by the first call.
template <class T, class... Arguments>
T& kept_by(const Stream& stream, Kept what, const Arguments&... arguments) {
  std::shared_ptr<void>& place = kept_by(stream, what);
  if (!place) place = std::make_shared<T>(arguments...);
  return *static_cast<T*>(place.get());
}

/// Memory of a stream (bytes): scratch for kernels whose interface passes none (a kernel may read
/// what the previous one of the same stream left there), workspace of cuBLASLt, and float32 sums of
/// products.
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
