// SPDX-License-Identifier: Apache-2.0
#pragma once
// NCCL for the emulated device: the functions of nccl.h that triax calls, between processes of one
// machine, through shared memory.
// As on GPUs, a collective is work of its stream; it makes progress on its own only once another
// rank waits for it. Calls of a group start at its end. Communicators are created and destroyed by
// all their ranks together.
// Stricter than NCCL: a process runs one operation after another, whatever the communicator
// (fake_nccl_order.hpp), and sends and receives match by order, so that an order which could hang
// with NCCL does hang here. Collectives that do not match, where NCCL would hang, give an
// asynchronous error.

namespace triax::test {

/// From here on all communicators of this process have an asynchronous error and transfer nothing:
/// a broken link.
void break_nccl_links();

/// Version that ncclGetVersion reports in this process from here on; 0 restores the default.
void set_nccl_version(int version);

/// Number of communicators of this process that are neither destroyed nor aborted.
int nccl_communicators();

}  // namespace triax::test
