// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Communicator over MPI: host memory, non-blocking calls only.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/base/mpi/wait.hpp"
#include "src/comm/host/direct_exchange.hpp"
#include "src/comm/interface/communicator.hpp"
#include "src/comm/mpi/slot_pool.hpp"
#include "src/comm/watchdog/group_record.hpp"

namespace triax {

/// Reductions support f32, f64, i32, i64 and u8, sums also bf16 and f16; other calls support every
/// type. An MPI failure is an Error with the rank, its grid coordinates, the call and MPI's text.
/// No call allocates once the largest number of messages in flight was reached (except MPI itself).
///
/// Sums of bf16, f16 and f32 come from DirectExchange, not from an MPI collective: in rank order,
/// in float32, rounded once. Other types, and f32 all-reduces below direct::least_bytes(), are
/// summed by MPI: with one MPI library the order depends only on the sizes of group and tensor. A
/// repeated run is therefore equal bit for bit.
class MpiCommunicator final : public Communicator, private MovesMessages {
 public:
  /// Takes ownership of `comm`. MPI_COMM_NULL means the group of this rank alone. `where` names
  /// this rank and the group in errors: "rank 5 (data 1, pipeline 0, tensor 1) on host, tensor
  /// axis". Objects that `record` points to must outlive this one.
  MpiCommunicator(MPI_Comm comm, WaitPolicy policy, std::string where,
                  const GroupRecord& record = {});
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Request all_reduce(const Stream& stream, const Tensor& data, ReduceOp op) override;
  Request reduce_scatter(const Stream& stream, const Tensor& output, const Tensor& input) override;
  Request all_gather(const Stream& stream, const Tensor& output, const Tensor& input) override;
  Request all_gather_run(const Stream& stream, const Tensor& whole, std::int64_t begin,
                         std::int64_t count) override;
  Request broadcast(const Stream& stream, const Tensor& data, int root) override;
  Request send(const Stream& stream, const Tensor& data, int to, int tag) override;
  Request receive(const Stream& stream, const Tensor& data, int from, int tag) override;
  Request barrier(const Stream& stream) override;
  Traffic traffic() const override { return traffic_; }

  /// Blocks the caller until `event` is done, noted on the board as a wait for the device.
  void drain(const Event& event);
  /// Blocks the caller until all work issued to `stream` so far is done.
  void drain(const Stream& stream);
  /// MPI_COMM_NULL if that was passed to the constructor.
  MPI_Comm mpi() const { return comm_; }
  /// Advanced by all waits of this group. Null in a group of one without: then only MPI advances.
  MessageProgress* progress() const { return record_.progress; }
  /// Largest tag of send and receive.
  int largest_tag() const { return largest_tag_; }
  /// Memory held for sums now: direct::held_bytes().
  std::uint64_t held_bytes() const { return sums_ ? sums_->held_bytes() : 0; }
  /// Frees that memory; no message may be under way. The next sum allocates again.
  void release_held() {
    if (sums_) sums_->release_held();
  }

 protected:
  void wait(std::uintptr_t handle, const Stream& stream) override;
  bool test(std::uintptr_t handle) override;

 private:
  /// A message under way; its index is the `handle` of its Request.
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint64_t operation = 0;  // ticket of sums_; 0: a request of MPI
    ProgressBoard::Message message;
    const char* call =
        "";  // MPI call named in errors; a sum of sums_ reports its own errors instead
    std::int64_t expected_bytes = 0;  // size of a receive; -1: not a receive
    // Bytes to move on completion: MPI leaves the result of an in-place reduce-scatter elsewhere.
    void* result = nullptr;
    const void* found = nullptr;
    std::size_t found_bytes = 0;
  };

  /// Takes a slot for a message of `kind`. A collective is noted on the board as begun.
  std::size_t take_slot(const Stream& stream, const char* call, CallKind kind, std::uint64_t bytes,
                        int peer = -1, int tag = 0);
  ProgressBoard::Message noted(CallKind kind, std::uint64_t bytes, int peer, int tag) const;
  /// Returns the Request of the call just made into `slot`, or throws the Error of its return code.
  Request started(std::size_t slot, int code);
  /// Returns the Request of an operation of sums_.
  Request summing(std::size_t slot, std::uint64_t operation);
  bool advance() override { return sums_->advance(); }
  /// Checks and frees a slot whose request is complete.
  void finish(std::size_t slot, int code, const MPI_Status& status);
  void check_peer(int peer, int tag) const;

  MPI_Comm comm_;
  WaitPolicy policy_;
  std::string where_;
  GroupRecord record_;
  int rank_ = 0;
  int size_ = 1;
  int largest_tag_ = 0;
  MessageProgress alone_;               // used if the record has none
  std::optional<DirectExchange> sums_;  // in groups of two or more
  Event made_;  // marks what the last message from a device stream waits for
  Traffic traffic_;
  SlotPool<Slot> slots_;
};

}  // namespace triax
