// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Communicator whose large collectives use memory shared by the ranks of a node; MPI does the
// rest.
#include <cstdint>
#include <limits>
#include <memory>

#include "src/comm/host/mpi_communicator.hpp"
#include "src/comm/interface/exchange.hpp"
#include "src/comm/interface/planned_messages.hpp"
#include "src/comm/mpi/slot_pool.hpp"
#include "src/comm/watchdog/group_record.hpp"

namespace triax {

/// Size range (bytes of the full tensor) in which a collective uses shared memory; outside it MPI
/// is used. The same on all ranks of a group.
struct NodeSizes {
  struct Range {
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t from = 0, to = unlimited;  // to: exclusive
    bool has(std::uint64_t bytes) const { return bytes >= from && bytes < to; }
    bool operator==(const Range&) const = default;
  };
  static constexpr Range none{.from = 0, .to = 0};
  Range sums, gathers;
  bool operator==(const NodeSizes&) const = default;
};

/// Sums are made in rank order, in float32, and 16-bit ones rounded once per level (node, then
/// nodes): their bits depend only on the size of the group and its nodes. Collectives through
/// shared memory are advanced by the ranks themselves, within test() and wait() of any message of
/// this process; none waits where it starts. No call allocates once the largest number of messages
/// in flight was reached.
class NodeCommunicator final : public Communicator, private MovesMessages {
 public:
  /// `mpi` has the same ranks and outlives this object, as do the objects `record` points to;
  /// record.progress is set. `exchange` is usable.
  NodeCommunicator(MpiCommunicator& mpi, std::unique_ptr<Exchange> exchange, WaitPolicy policy,
                   const GroupRecord& record);
  ~NodeCommunicator() override;
  NodeCommunicator(const NodeCommunicator&) = delete;
  NodeCommunicator& operator=(const NodeCommunicator&) = delete;

  int rank() const override { return mpi_.rank(); }
  int size() const override { return mpi_.size(); }
  Request all_reduce(const Stream& stream, const Tensor& data, ReduceOp op) override;
  Request reduce_scatter(const Stream& stream, const Tensor& output, const Tensor& input) override;
  Request all_gather(const Stream& stream, const Tensor& output, const Tensor& input) override;
  Request all_gather_run(const Stream& stream, const Tensor& whole, std::int64_t begin,
                         std::int64_t count) override;
  Request broadcast(const Stream& stream, const Tensor& data, int root) override {
    return mpi_.broadcast(stream, data, root);
  }
  Request send(const Stream& stream, const Tensor& data, int to, int tag) override {
    return mpi_.send(stream, data, to, tag);
  }
  Request receive(const Stream& stream, const Tensor& data, int from, int tag) override {
    return mpi_.receive(stream, data, from, tag);
  }
  Request barrier(const Stream& stream) override { return mpi_.barrier(stream); }
  Traffic traffic() const override { return mpi_.traffic() + traffic_; }

  int ranks_sharing() const { return exchange_->ranks_sharing(); }
  const NodeSizes& sizes() const { return sizes_; }
  /// Call with the same sizes on all ranks, while no message is under way.
  void set_sizes(const NodeSizes& sizes) { sizes_ = sizes; }

 protected:
  void wait(std::uintptr_t handle, const Stream& stream) override;
  bool test(std::uintptr_t handle) override;

 private:
  /// A collective under way; its index is the `handle` of its Request.
  struct Message {
    std::uint64_t operation = 0;  // ticket of the exchange
    ProgressBoard::Message noted;
  };
  bool advance() override { return exchange_->advance(); }
  bool sums_here(const Tensor& tensor) const;
  Request started(const Stream& stream, CallKind kind, std::uint64_t bytes, const Traffic& traffic,
                  const auto& begin);
  void finish(std::uintptr_t handle);

  MpiCommunicator& mpi_;
  std::unique_ptr<Exchange> exchange_;
  WaitPolicy policy_;
  GroupRecord record_;
  NodeSizes sizes_;
  Traffic traffic_;
  SlotPool<Message> messages_;
};

}  // namespace triax
