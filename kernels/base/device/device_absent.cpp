// SPDX-License-Identifier: Apache-2.0
// The device backend of a build without CUDA: no GPUs.
#include "kernels/base/check.hpp"
#include "kernels/base/device/device_backend.hpp"

namespace triax::device_backend {
namespace {

[[noreturn]] void absent() {
  throw Error("no GPU can be used", "this build of triax has no CUDA",
              "Configure it with -DTRIAX_CUDA=ON, or set run.device to \"cpu\"");
}

}  // namespace

int count() {
  return 0;
}
void bind(int) {
  absent();
}
DeviceFacts facts() {
  absent();
}
DevicePlace place(int) {
  absent();
}
Handle make_stream() {
  absent();
}
void raise_priority(void*) {
  absent();
}
void synchronize_stream(void*) {
  absent();
}
void attach_thread(void*) {
  absent();
}
void* native_stream(void*) {
  absent();
}
Handle make_event() {
  absent();
}
void record(void*, void*) {
  absent();
}
void wait(void*, void*) {
  absent();
}
bool done(void*) {
  absent();
}
void synchronize_event(void*) {
  absent();
}
void* allocate(std::size_t) {
  absent();
}
void release(void*) noexcept {}
void pin(void*, std::size_t) {
  absent();
}
void unpin(void*) noexcept {}
void copy(void*, void*, const void*, std::size_t) {
  absent();
}
void fill_zero(void*, void*, std::size_t) {
  absent();
}

}  // namespace triax::device_backend
