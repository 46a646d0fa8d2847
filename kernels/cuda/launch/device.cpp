// SPDX-License-Identifier: Apache-2.0
// GPU backend of kernels/base/device/device.hpp, by the CUDA runtime.
#include <cuda_runtime_api.h>

#include <array>
#include <cstring>
#include <utility>

#include "kernels/base/device/device.hpp"
#include "kernels/base/device/device_backend.hpp"
#include "kernels/cuda/launch/check_call.hpp"
#include "kernels/cuda/launch/stream.hpp"

namespace triax::cuda {
namespace {

// A CUDA stream and the objects kept with it.
struct Queue {
  cudaStream_t stream = nullptr;
  int device = 0;
  std::size_t shared_memory = 0;  // most bytes that one CUDA block may use
  std::array<std::shared_ptr<void>, kept_count> kept;

  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {    // a destructor cannot report a failure
    kept = {};  // released before the stream that they use
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
};

cudaStream_t native(void* queue) {
  return static_cast<Queue*>(queue)->stream;
}

cudaEvent_t event_of(void* event) {
  return static_cast<cudaEvent_t>(event);
}

// Errors of pinning that come from the machine's limits. Any other status may be the error of an
// earlier kernel.
bool refuses_to_pin(cudaError_t status) {
  return status == cudaErrorMemoryAllocation || status == cudaErrorNotPermitted ||
         status == cudaErrorNotSupported || status == cudaErrorOperatingSystem;
}

void require_device() {
  if (device_backend::count() == 0)
    throw Error("a GPU was asked for", "no CUDA device", "Run where nvidia-smi shows one");
}

}  // namespace

void* native_stream(const Stream& stream) {
  return native(stream.handle());
}

std::size_t shared_memory_of(const Stream& stream) {
  return static_cast<Queue*>(stream.handle())->shared_memory;
}

std::shared_ptr<void>& kept_by(const Stream& stream, Kept what) {
  return static_cast<Queue*>(stream.handle())->kept[static_cast<std::size_t>(what)];
}

}  // namespace triax::cuda

namespace triax::device_backend {

using cuda::check_call;
using cuda::event_of;
using cuda::native;
using cuda::refuses_to_pin;

int count() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  // No GPU is normal: the program then runs on the CPU.
  if (status == cudaErrorNoDevice) return 0;
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return 0;  // no driver
    throw Error(
        "the GPUs cannot be used",
        fmt::format("their driver supports CUDA {}.{}, this program needs {}.{}", driver / 1000,
                    driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10),
        "Update the driver, build with an older CUDA, or set run.device to cpu");
  }
  check_call(status, "cudaGetDeviceCount");
  return devices;
}

void bind(int index) {
  check_call(cudaSetDevice(index), "cudaSetDevice");
}

DevicePlace place(int index) {
  cudaDeviceProp properties{};
  check_call(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  std::int64_t part = 0;
  static_assert(sizeof part <= sizeof properties.uuid.bytes);
  std::memcpy(&part, properties.uuid.bytes, sizeof part);
  return {(std::int64_t{properties.pciDomainID} * 256 + properties.pciBusID) * 32 +
              properties.pciDeviceID,
          part};
}

DeviceFacts facts() {
  int device = 0;
  check_call(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp properties{};
  check_call(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::size_t free = 0, total = 0;
  check_call(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {properties.name, place(device), static_cast<std::int64_t>(total),
          static_cast<std::int64_t>(free)};
}

Handle make_stream() {
  cuda::require_device();
  const auto queue = std::make_shared<cuda::Queue>();
  check_call(cudaGetDevice(&queue->device), "cudaGetDevice");
  int shared_memory = 0;
  check_call(cudaDeviceGetAttribute(&shared_memory, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                    queue->device),
             "cudaDeviceGetAttribute");
  queue->shared_memory = static_cast<std::size_t>(shared_memory);
  check_call(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking),
             "cudaStreamCreateWithFlags");
  return queue;
}

void raise_priority(void* stream) {
  int least = 0, greatest = 0;
  check_call(cudaDeviceGetStreamPriorityRange(&least, &greatest),
             "cudaDeviceGetStreamPriorityRange");
  auto* queue = static_cast<cuda::Queue*>(stream);
  cudaStream_t raised = nullptr;
  check_call(cudaStreamCreateWithPriority(&raised, cudaStreamNonBlocking, greatest),
             "cudaStreamCreateWithPriority");
  check_call(cudaStreamDestroy(std::exchange(queue->stream, raised)), "cudaStreamDestroy");
}

void synchronize_stream(void* stream) {
  check_call(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
}

void attach_thread(void* stream) {
  check_call(cudaSetDevice(static_cast<cuda::Queue*>(stream)->device), "cudaSetDevice");
}

void* native_stream(void* stream) {
  return native(stream);
}

Handle make_event() {
  cudaEvent_t event = nullptr;
  check_call(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return {event, [](void* made) { cudaEventDestroy(event_of(made)); }};
}

void record(void* event, void* stream) {
  check_call(cudaEventRecord(event_of(event), native(stream)), "cudaEventRecord");
}

void wait(void* stream, void* event) {
  check_call(cudaStreamWaitEvent(native(stream), event_of(event), 0), "cudaStreamWaitEvent");
}

bool done(void* event) {
  const cudaError_t status = cudaEventQuery(event_of(event));
  if (status == cudaErrorNotReady) return false;
  check_call(status, "cudaEventQuery");
  return true;
}

void synchronize_event(void* event) {
  check_call(cudaEventSynchronize(event_of(event)), "cudaEventSynchronize");
}

void* allocate(std::size_t bytes) {
  cuda::require_device();
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation)
    throw Error(fmt::format("cannot allocate {} bytes of device memory", bytes), "out of memory",
                "Use more ranks, a smaller micro-batch, activation checkpointing or offload");
  check_call(status, "cudaMalloc");
  check_call(cudaMemset(memory, 0, bytes), "cudaMemset");
  // cudaMemset runs on the default stream, which our non-blocking streams do not wait for.
  check_call(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  return memory;
}

void release(void* memory) noexcept {
  cudaFree(memory);
}

void pin(void* memory, std::size_t bytes) {
  const cudaError_t status = cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
  if (refuses_to_pin(status))
    throw Error(
        fmt::format("cannot pin {} bytes of host memory for copies from and to the GPU", bytes),
        cudaGetErrorString(status),
        "Raise the limit of locked memory (ulimit -l unlimited, a container's memlock), give "
        "the job more host memory, or offload less");
  check_call(status, "cudaHostRegister");
}

void unpin(void* memory) noexcept {
  cudaDeviceSynchronize();  // cudaFree waits like this by itself, cudaHostUnregister does not
  cudaHostUnregister(memory);
}

void copy(void* stream, void* to, const void* from, std::size_t bytes) {
  check_call(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)),
             "cudaMemcpyAsync");
}

void fill_zero(void* stream, void* memory, std::size_t bytes) {
  check_call(cudaMemsetAsync(memory, 0, bytes, native(stream)), "cudaMemsetAsync");
}

}  // namespace triax::device_backend
