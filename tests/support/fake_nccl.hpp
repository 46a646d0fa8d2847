#pragma once
// NCCL for the emulated device: the functions of nccl.h that triax calls, between the processes of
// one machine, through memory that they share. As on GPUs a collective is work of its stream, which
// goes on by itself once another rank waits for it, and no sooner; groups begin at their end;
// communicators are made, and destroyed, by all their ranks together. Collectives that do not
// match, where NCCL would hang, get an asynchronous error that says so. Sends and receives match by
// their order, and a process does one thing after another (fake_nccl_order.hpp): a wrong order
// hangs.

namespace triax::test {

/// From here on every communicator of this process has an asynchronous error and moves nothing
/// more: a link that broke.
void break_nccl_links();

/// What ncclGetVersion says in this process from here on; 0: what it says by itself.
void set_nccl_version(int version);

/// Communicators of this process that are not destroyed or aborted.
int nccl_communicators();

}  // namespace triax::test
