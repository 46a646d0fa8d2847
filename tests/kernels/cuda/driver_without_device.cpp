// SPDX-License-Identifier: Apache-2.0
// The part of the GPU driver (libcuda.so.1) that cuDNN needs to plan for a device that is not
// present: compiled kernels load, but nothing runs.

namespace {
constexpr int success = 0;
constexpr int no_device = 100;
int loaded;  // handle of everything that is loaded
}  // namespace

#define TRIAX_REFUSED(name) \
  int name() {              \
    return no_device;       \
  }

extern "C" {

int cuLibraryLoadData(void** library) {
  *library = &loaded;
  return success;
}
int cuLibraryGetKernel(void** kernel) {
  *kernel = &loaded;
  return success;
}
int cuLibraryUnload() {
  return success;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
int cuGetErrorName(int, const char** name) {
  *name = "refused by the test's driver";
  return success;
}
int cuGetErrorString(int error, const char** text) {
  return cuGetErrorName(error, text);
}

// cuDNN looks these functions up but does not call them.
TRIAX_REFUSED(cuCtxGetCurrent)
TRIAX_REFUSED(cuCtxGetLimit)
TRIAX_REFUSED(cuCtxPopCurrent)
TRIAX_REFUSED(cuCtxPushCurrent)
TRIAX_REFUSED(cuDeviceGet)
TRIAX_REFUSED(cuDeviceGetCount)
TRIAX_REFUSED(cuInit)
TRIAX_REFUSED(cuKernelGetAttribute)
TRIAX_REFUSED(cuKernelSetAttribute)
TRIAX_REFUSED(cuLaunchCooperativeKernel)
TRIAX_REFUSED(cuLaunchKernel)
TRIAX_REFUSED(cuLaunchKernelEx)
TRIAX_REFUSED(cuLibraryLoadFromFile)
TRIAX_REFUSED(cuLinkAddData)
TRIAX_REFUSED(cuLinkComplete)
TRIAX_REFUSED(cuLinkCreate)
TRIAX_REFUSED(cuLinkDestroy)
TRIAX_REFUSED(cuOccupancyMaxPotentialClusterSize)
TRIAX_REFUSED(cuStreamGetCtx)
}
