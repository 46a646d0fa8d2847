#pragma once
// What the bodies of kernels ask of a stream of the device.
#include <cstddef>

#include "kernels/base/device.hpp"

namespace triax::cuda {

/// The cudaStream_t of a device's stream.
void* native_stream(const Stream& stream);

/// Memory that belongs to the stream, for kernels whose interface gives them none: what one kernel
/// leaves there, the next of the same stream may read.
void* stream_scratch(const Stream& stream);
inline constexpr std::size_t stream_scratch_bytes = 16384;

}  // namespace triax::cuda
