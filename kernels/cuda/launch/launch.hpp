#pragma once
// How a kernel is started and what it sees of the grid. A kernel is a plain struct:
//   struct Body {
//     static constexpr int max_threads = 256;                  // of a block
//     static constexpr int resident_blocks = 2;                // optional: of a multiprocessor, at
//                                                              // least: bounds registers
//     ...                                                      // arguments, copied to the device
//     TRIAX_DEVICE void operator()(const Block& block) const;  // runs once a thread
//   };
//   launch(stream, shape, Body{...});
// Block offers thread_x(), thread_y(), threads_x(), threads_y(), index_x(), index_y(), sync(),
// shuffle_xor(value, mask) and shared<T>(). nvcc makes GPU code of it; any other compiler makes
// code for the emulator of the tests, which runs the same struct on the host. The tests' targets
// define TRIAX_EMULATOR as its header.
#include "kernels/base/device/host_device.hpp"
#include "kernels/cuda/launch/launch_shape.hpp"

#ifdef __CUDACC__
#include "kernels/cuda/launch/launch_device.hpp"
#else
#include TRIAX_EMULATOR
#endif
