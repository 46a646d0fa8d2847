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

/// Reductions take f32, f64, i32, i64, u8, and as sums bf16 and f16; other calls take every type.
/// What MPI reports as failed is an Error with the rank, its place, the call and MPI's text. No
/// call allocates once the largest number of requests in flight was reached (MPI's own memory
/// aside).
///
/// Sums of bf16, f16 and f32 are those of DirectExchange: in the order of the ranks, in float32 and
/// rounded once. Of other types, and in small all-reduces of f32 (direct::least_bytes), the order
/// is MPI's: for one MPI library it depends on the size of the group and of the tensor only. So a
/// run repeats itself bit for bit.
class MpiCommunicator final : public Communicator, private MovesMessages {
 public:
  /// Owns `comm` from here on. MPI_COMM_NULL stands for the group of this rank alone. `where` names
  /// this rank and the group in errors: "rank 5 (data 1, pipeline 0, tensor 1) on host, tensor
  /// axis". What `record` points at outlives it.
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

  /// Blocks the caller until `event` is done: a wait for the device, of which the board knows.
  void drain(const Event& event);
  /// Until all that `stream` has now is.
  void drain(const Stream& stream);
  /// MPI_COMM_NULL in a group of one that was made from it.
  MPI_Comm mpi() const { return comm_; }
  /// What its waits move on; null in a group of one without: MPI's messages alone.
  MessageProgress* progress() const { return record_.progress; }
  /// Largest tag of send and receive.
  int largest_tag() const { return largest_tag_; }
  /// Memory taken for sums so far: direct::held_bytes.
  std::uint64_t held_bytes() const { return sums_ ? sums_->held_bytes() : 0; }
  /// Gives it back, where no message is under way; the next sum takes its own.
  void release_held() {
    if (sums_) sums_->release_held();
  }

 protected:
  void wait(std::uintptr_t handle, const Stream& stream) override;
  bool test(std::uintptr_t handle) override;

 private:
  /// One message under way; `handle` of its Request is its index.
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint64_t operation = 0;  // of sums_; 0: MPI's
    ProgressBoard::Message message;
    const char* call = "";            // for errors
    std::int64_t expected_bytes = 0;  // of a receive; -1: not a receive
    // Bytes to move when complete: MPI leaves the result of an in-place reduce-scatter elsewhere.
    void* result = nullptr;
    const void* found = nullptr;
    std::size_t found_bytes = 0;
  };

  /// For a message of `kind`; a collective is noted as begun.
  std::size_t take_slot(const Stream& stream, const char* call, CallKind kind, std::uint64_t bytes,
                        int peer = -1, int tag = 0);
  ProgressBoard::Message noted(CallKind kind, std::uint64_t bytes, int peer, int tag) const;
  /// The Request of a call just made into `slot`, or the Error of its return code.
  Request started(std::size_t slot, int code);
  /// The Request of an operation of sums_.
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
  MessageProgress alone_;               // of this group, where the record has none
  std::optional<DirectExchange> sums_;  // in a group of several
  Event made_;                          // what the last message of a device's stream waited for
  Traffic traffic_;
  SlotPool<Slot> slots_;
};

}  // namespace triax
