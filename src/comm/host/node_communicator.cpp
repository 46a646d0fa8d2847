// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/node_communicator.hpp"

#include <algorithm>
#include <utility>

#include "src/comm/interface/message_checks.hpp"
#include "src/comm/mpi/rank_order_sum.hpp"

namespace triax {
namespace {

// Marks this rank as working on its messages during a scope, also when an exception leaves it.
class Attendance {
 public:
  explicit Attendance(Exchange& exchange) : exchange_(exchange) { exchange_.attend(true); }
  ~Attendance() { exchange_.attend(false); }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

 private:
  Exchange& exchange_;
};

}  // namespace

NodeCommunicator::NodeCommunicator(MpiCommunicator& mpi, std::unique_ptr<Exchange> exchange,
                                   WaitPolicy policy, const GroupRecord& record)
    : mpi_(mpi), exchange_(std::move(exchange)), policy_(policy), record_(record) {
  check(exchange_->usable(), "messages of a node without shared memory");
  check(record_.progress != nullptr, "messages of a node that nothing moves on");
  // MPI may add smaller sums in another order, so their way must be fixed, not measured.
  sizes_.sums.from = std::max(node::least_bytes, direct::least_bytes(size()));
  sizes_.gathers.from = node::least_bytes;
  // Gathers across nodes are not always faster this way: they need a measurement.
  if (exchange_->ranks_sharing() < size()) sizes_.gathers = NodeSizes::none;
  record_.progress->add(*this);
}

NodeCommunicator::~NodeCommunicator() {
  record_.progress->remove(*this);
}

bool NodeCommunicator::sums_here(const Tensor& tensor) const {
  return tensor.elements() > 0 && sizes_.sums.has(byte_count(tensor)) &&
         has_rank_order_sum(tensor.dtype());
}

Request NodeCommunicator::all_reduce(const Stream& stream, const Tensor& data, ReduceOp op) {
  if (op != ReduceOp::sum || !sums_here(data) || !exchange_->divides(data.elements()))
    return mpi_.all_reduce(stream, data, op);
  check_message(data);
  return started(stream, CallKind::all_reduce, byte_count(data),
                 ring::all_reduce(size(), byte_count(data)),
                 [&] { return exchange_->all_reduce(data); });
}

Request NodeCommunicator::reduce_scatter(const Stream& stream, const Tensor& output,
                                         const Tensor& input) {
  if (!sums_here(input)) return mpi_.reduce_scatter(stream, output, input);
  check_part(output, input, rank(), size());
  return started(stream, CallKind::reduce_scatter, byte_count(input),
                 ring::reduce_scatter(size(), byte_count(input)),
                 [&] { return exchange_->reduce_scatter(output, input); });
}

Request NodeCommunicator::all_gather(const Stream& stream, const Tensor& output,
                                     const Tensor& input) {
  if (output.elements() == 0 || !sizes_.gathers.has(byte_count(output)))
    return mpi_.all_gather(stream, output, input);
  check_part(input, output, rank(), size());
  return started(stream, CallKind::all_gather, byte_count(output),
                 ring::all_gather(size(), byte_count(output)), [&] {
                   return exchange_->all_gather(output, 0, input.bytes(),
                                                static_cast<const std::byte*>(input.data()));
                 });
}

Request NodeCommunicator::all_gather_run(const Stream& stream, const Tensor& whole,
                                         std::int64_t begin, std::int64_t count) {
  check_message(whole);
  const std::int64_t part = check_run(whole, size(), begin, count);
  const auto width = static_cast<std::int64_t>(size_of(whole.dtype()));
  const auto bytes = static_cast<std::uint64_t>(size() * count * width);
  if (count == 0 || !sizes_.gathers.has(bytes))
    return mpi_.all_gather_run(stream, whole, begin, count);
  const auto* const own =
      static_cast<const std::byte*>(whole.data()) + (rank() * part + begin) * width;
  return started(stream, CallKind::all_gather, bytes, ring::all_gather(size(), bytes),
                 [&] { return exchange_->all_gather(whole, begin * width, count * width, own); });
}

// The first rounds start at once: the data was just written and is still in a cache.
Request NodeCommunicator::started(const Stream& stream, CallKind kind, std::uint64_t bytes,
                                  const Traffic& traffic, const auto& begin) {
  mpi_.drain(stream);  // as for MPI: the kernels that write the data must be done
  const MessageScope scope(record_.clock);
  if (record_.clock != nullptr) record_.clock->begins();
  const std::size_t index = messages_.take();
  ProgressBoard::Message noted;
  if (record_.board != nullptr) noted = record_.board->start(record_.group, kind, bytes);
  traffic_ += traffic;
  messages_[index] = {begin(), noted};
  exchange_->advance();
  return Request(this, index);
}

void NodeCommunicator::finish(std::uintptr_t handle) {
  messages_.give_back(handle);
  if (record_.clock != nullptr) record_.clock->ends();
  if (record_.board != nullptr) record_.board->finish(messages_[handle].noted);
}

// MPI's messages progress too (MpiDriver): the rank this one waits for may be waiting for one of
// them.
void NodeCommunicator::wait(std::uintptr_t handle, const Stream&) {
  const MessageScope scope(record_.clock);
  const Message& message = messages_[handle];
  {
    const BoardWait waiting(record_.board, message.noted);
    const Attendance here(*exchange_);
    PatientProgress patience(record_.progress, policy_);
    while (!exchange_->over(message.operation)) patience.pause();
  }
  finish(handle);
}

// Polls while anything moves. If another rank is working on the same messages now, a short wait for
// it pays off.
bool NodeCommunicator::test(std::uintptr_t handle) {
  const MessageScope scope(record_.clock);
  const Message& message = messages_[handle];
  constexpr int looks = 500;
  const int most = policy_ == WaitPolicy::spin ? looks : 0;
  {
    const Attendance here(*exchange_);
    for (int look = 0; !exchange_->over(message.operation); ++look)
      if (exchange_->advance())
        look = 0;
      else if (look >= most || !exchange_->others_attend())
        break;
  }
  if (!exchange_->over(message.operation)) return false;
  finish(handle);
  return true;
}

}  // namespace triax
