// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels on the host or, with TRIAX_TEST_SPACE=device, on a device: the same tests hold both
// against the same oracles.
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/base/device/arena.hpp"

namespace triax::test {

/// Memory space in which this process runs its kernels.
inline MemorySpace space() {
  const char* wanted = std::getenv("TRIAX_TEST_SPACE");
  return wanted != nullptr && std::string_view(wanted) == "device" ? MemorySpace::device
                                                                   : MemorySpace::host;
}

/// Whether the device is a GPU with the vendor's libraries, not the emulator.
inline bool on_a_gpu() {
  static const bool gpu =
      space() == MemorySpace::device && device_facts().name != "emulated device";
  return gpu;
}

template <class T>
concept HasPositions = std::is_same_v<decltype(T::positions), Tensor>;

/// Device copies of host memory. Views that share memory on the host share it on the device too.
class Mirror {
 public:
  explicit Mirror(const Stream& stream) : stream_(stream) {}

  /// Registers a view that will be asked for.
  void add(const Tensor& view) {
    if (view.data() == nullptr || view.space() == MemorySpace::device) return;
    std::int64_t elements = 1;
    for (int d = 0; d < view.rank(); ++d) elements += (view.size(d) - 1) * view.stride(d);
    if (view.elements() == 0) elements = 0;
    auto* begin = static_cast<unsigned char*>(view.data());
    Run run{begin, begin + elements * static_cast<std::int64_t>(size_of(view.dtype())), {}};
    // Ranges that touch become one.
    const auto touching = [&](const Run& other) {
      return other.begin <= run.end && run.begin <= other.end;
    };
    for (const Run& other : runs_)
      if (touching(other)) {
        run.begin = std::min(run.begin, other.begin);
        run.end = std::max(run.end, other.end);
      }
    std::erase_if(runs_, touching);
    runs_.push_back(std::move(run));
  }

  void upload() {
    for (Run& run : runs_) {
      // Alignment as on the host, so that aligned and unaligned views both occur.
      run.buffer = Buffer(run.bytes() + 16, MemorySpace::device);
      copy(stream_, on_device(run), on_host(run));
    }
  }
  void download() {
    for (const Run& run : runs_) copy(stream_, on_host(run), on_device(run));
    stream_.synchronize();
  }

  /// `view`, with its memory on the device.
  Tensor view(const Tensor& view) const {
    if (view.data() == nullptr || view.space() == MemorySpace::device) return view;
    const auto* data = static_cast<unsigned char*>(view.data());
    const auto run = std::find_if(runs_.begin(), runs_.end(), [&](const Run& other) {
      return other.begin <= data && data <= other.end;
    });
    Shape stride = view.shape();
    for (int d = 0; d < view.rank(); ++d) stride[d] = view.stride(d);
    return Tensor(run->device() + (data - run->begin), view.dtype(), view.shape(),
                  MemorySpace::device)
        .restrided(view.shape(), stride);
  }
  /// Any other argument is passed as it is.
  template <class T>
  const T& view(const T& argument) const {
    return argument;
  }
  Arena& view(Arena& scratch) const { return scratch; }
  template <class T>
  void add(const T&) {}
  /// Options with positions of tokens, which are a tensor.
  template <HasPositions T>
  T view(const T& options) const {
    T there = options;
    there.positions = view(options.positions);
    return there;
  }
  template <HasPositions T>
  void add(const T& options) {
    add(options.positions);
  }

 private:
  struct Run {
    unsigned char* begin;
    unsigned char* end;
    Buffer buffer;

    std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
    unsigned char* device() const {
      return static_cast<unsigned char*>(buffer.data()) +
             reinterpret_cast<std::uintptr_t>(begin) % 16;
    }
  };
  static Tensor on_host(const Run& run) {
    return {run.begin, DType::u8, {static_cast<std::int64_t>(run.bytes())}};
  }
  static Tensor on_device(const Run& run) {
    return {run.device(), DType::u8, {static_cast<std::int64_t>(run.bytes())}, MemorySpace::device};
  }

  const Stream& stream_;
  std::vector<Run> runs_;
};

/// A new stream, or on a GPU one for all runs: cuBLASLt's handle and memory, which a stream keeps,
/// take longer than most tests. It lives as long as the process: at its end the library may be
/// gone.
inline Stream stream_of_run() {
  if (!on_a_gpu()) return Stream(space());
  static const Stream& stream = *new Stream(MemorySpace::device);
  return stream;
}

/// Calls kernel(stream, arguments...). Tensors lie in host memory; for a device they are copied
/// there and back. An Arena must already lie in the right space (Scratch).
template <class... Parameters>
void run(void (*kernel)(const Stream&, Parameters...),
         std::type_identity_t<Parameters>... arguments) {
  const Stream stream = stream_of_run();
  if (space() == MemorySpace::host) return kernel(stream, arguments...);
  Mirror mirror(stream);
  (mirror.add(arguments), ...);
  mirror.upload();
  kernel(stream, mirror.view(arguments)...);
  mirror.download();
}

}  // namespace triax::test
