#pragma once
// What the bodies of kernels ask of a stream of the device.
#include <cstddef>
#include <memory>

#include "kernels/base/device.hpp"

namespace triax::cuda {

/// The cudaStream_t of a device's stream.
void* native_stream(const Stream& stream);

/// Memory that belongs to the stream, for kernels whose interface gives them none: what one kernel
/// leaves there, the next of the same stream may read.
void* stream_scratch(const Stream& stream);
inline constexpr std::size_t stream_scratch_bytes = 16384;

/// What else a stream keeps: made by whoever first needs it, and ended with the stream. A stream
/// is one thread's at a time, and so are these.
enum class Kept : std::size_t { blas, product_sums };
inline constexpr std::size_t kept_count = 2;
std::shared_ptr<void>& kept_by(const Stream& stream, Kept what);

/// The T that a stream keeps, made of `arguments` by the first call.
template <class T, class... Arguments>
T& kept_by(const Stream& stream, Kept what, const Arguments&... arguments) {
  std::shared_ptr<void>& place = kept_by(stream, what);
  if (!place) place = std::make_shared<T>(arguments...);
  return *static_cast<T*>(place.get());
}

}  // namespace triax::cuda
