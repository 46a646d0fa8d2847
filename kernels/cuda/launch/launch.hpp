// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels: how one is started, and what it sees of the grid. A kernel is a plain struct:
//   struct Body {
//     static constexpr int max_threads = 256;                  // per CUDA block
//     static constexpr int resident_blocks = 2;                // optional: least number of blocks
//                                                              // per multiprocessor; bounds
//                                                              registers
//     ...                                                      // arguments, copied to the device
//     TRIAX_DEVICE void operator()(const Block& block) const;  // runs once per thread
//   };
//   launch(stream, shape, Body{...});
// Block offers thread_x(), thread_y(), threads_x(), threads_y(), index_x(), index_y(), sync(),
// shuffle_xor(value, mask) and shared<T>(). nvcc makes GPU code of it. Any other compiler makes
// code for the emulator of the tests, whose header the test targets define as TRIAX_EMULATOR.
#include "kernels/base/device/host_device.hpp"
#include "kernels/cuda/launch/launch_shape.hpp"

#ifdef __CUDACC__
#include "kernels/cuda/launch/launch_device.hpp"
#else
#include TRIAX_EMULATOR
#endif
