// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/mpi_communicator.hpp"

#include <cstring>
#include <utility>

#include "kernels/base/mpi/mpi_error.hpp"
#include "src/comm/interface/message_checks.hpp"
#include "src/comm/mpi/message_tags.hpp"
#include "src/comm/mpi/mpi_large_count.hpp"
#include "src/comm/mpi/mpi_types.hpp"
#include "src/comm/mpi/owned_handle.hpp"
#include "src/comm/mpi/rank_order_sum.hpp"
#include "src/comm/watchdog/device_wait.hpp"

namespace triax {
namespace {

constexpr std::int64_t not_a_receive = -1;

// True for all-reduces summed by DirectExchange: MPI would round 16-bit elements at each step.
bool sums_directly(const Tensor& data, ReduceOp op, int ranks) {
  const bool small = data.dtype() == DType::f32 && byte_count(data) < direct::least_bytes(ranks);
  return op == ReduceOp::sum && has_rank_order_sum(data.dtype()) && !small;
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm comm, WaitPolicy policy, std::string where,
                                 const GroupRecord& record)
    : comm_(comm), policy_(policy), where_(std::move(where)), record_(record) {
  if (comm_ == MPI_COMM_NULL) return;
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", where_);
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank", where_);
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size", where_);
  largest_tag_ = largest_message_tag(where_);
  if (size_ == 1) return;
  sums_.emplace(comm_, largest_tag_ + 1, where_);
  if (record_.progress == nullptr) record_.progress = &alone_;
  record_.progress->add(*this);
}

MpiCommunicator::~MpiCommunicator() {
  if (sums_) record_.progress->remove(*this);
  sums_.reset();
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
}

Request MpiCommunicator::all_reduce(const Stream& stream, const Tensor& data, ReduceOp op) {
  check_message(data);
  const bool direct = sums_directly(data, op, size_);
  const MPI_Datatype type = direct ? MPI_DATATYPE_NULL : reducible_type(data.dtype());
  if (size_ == 1 || data.elements() == 0) return {};
  if (direct) {  // DirectExchange sends by MPI_Isend; no MPI collective is called
    const std::size_t slot = take_slot(stream, "MPI_Isend", CallKind::all_reduce, byte_count(data));
    traffic_ += ring::all_reduce(size_, byte_count(data));
    return summing(slot, sums_->all_reduce(data));
  }
  const mpi::Count count = mpi::count_of(data.elements());
  const std::size_t slot =
      take_slot(stream, "MPI_Iallreduce", CallKind::all_reduce, byte_count(data));
  traffic_ += ring::all_reduce(size_, byte_count(data));
  return started(slot, mpi::iallreduce(MPI_IN_PLACE, data.data(), count, type, reduction_of(op),
                                       comm_, &slots_[slot].request));
}

Request MpiCommunicator::reduce_scatter(const Stream& stream, const Tensor& output,
                                        const Tensor& input) {
  check_part(output, input, rank_, size_);
  const bool direct = has_rank_order_sum(input.dtype());
  const MPI_Datatype type = direct ? MPI_DATATYPE_NULL : reducible_type(input.dtype());
  if (input.elements() == 0) return {};
  if (size_ == 1) {
    copy(stream, output, input);
    return {};
  }
  const auto begun = [&](const char* call) {
    traffic_ += ring::reduce_scatter(size_, byte_count(input));
    return take_slot(stream, call, CallKind::reduce_scatter, byte_count(input));
  };
  if (direct) {  // as above
    const std::size_t slot = begun("MPI_Isend");
    return summing(slot, sums_->reduce_scatter(output, input));
  }
  // The count of the whole input must fit too: Open MPI counts all shards together in an int.
  const mpi::Count count = mpi::count_of(input.elements()) / size_;
  const MPI_Op sum = reduction_of(ReduceOp::sum);
  const std::size_t index = begun("MPI_Ireduce_scatter_block");
  Slot& slot = slots_[index];
  if (output.data() != part_of(input, rank_, output))
    return started(index, mpi::ireduce_scatter_block(input.data(), output.data(), count, type, sum,
                                                     comm_, &slot.request));
  if (rank_ != 0) {  // MPI leaves an in-place result at the start of the input
    slot.result = output.data();
    slot.found = input.data();
    slot.found_bytes = static_cast<std::size_t>(output.bytes());
  }
  return started(index, mpi::ireduce_scatter_block(MPI_IN_PLACE, input.data(), count, type, sum,
                                                   comm_, &slot.request));
}

Request MpiCommunicator::all_gather(const Stream& stream, const Tensor& output,
                                    const Tensor& input) {
  check_part(input, output, rank_, size_);
  if (output.elements() == 0) return {};
  if (size_ == 1) {
    copy(stream, output, input);
    return {};
  }
  const MPI_Datatype type = movable_type(input.dtype());
  const mpi::Count count = mpi::count_of(input.elements());
  const bool in_place = input.data() == part_of(output, rank_, input);
  const std::size_t slot =
      take_slot(stream, "MPI_Iallgather", CallKind::all_gather, byte_count(output));
  traffic_ += ring::all_gather(size_, byte_count(output));
  return started(slot, mpi::iallgather(in_place ? MPI_IN_PLACE : input.data(), count, type,
                                       output.data(), count, type, comm_, &slots_[slot].request));
}

// The slices are elements of a datatype whose extent is the distance between two shards.
Request MpiCommunicator::all_gather_run(const Stream& stream, const Tensor& whole,
                                        std::int64_t begin, std::int64_t count) {
  check_message(whole);
  const std::int64_t part = check_run(whole, size_, begin, count);
  if (size_ == 1 || count == 0) return {};
  const auto width = static_cast<std::int64_t>(size_of(whole.dtype()));
  OwnedType dense, run;
  check_mpi(
      mpi::type_contiguous(mpi::count_of(count), movable_type(whole.dtype()), dense.address()),
      "MPI_Type_contiguous", where_);
  check_mpi(MPI_Type_create_resized(dense.get(), 0, part * width, run.address()),
            "MPI_Type_create_resized", where_);
  check_mpi(MPI_Type_commit(run.address()), "MPI_Type_commit", where_);
  const auto bytes = static_cast<std::uint64_t>(size_ * count * width);
  const std::size_t slot = take_slot(stream, "MPI_Iallgather", CallKind::all_gather, bytes);
  traffic_ += ring::all_gather(size_, bytes);
  return started(slot, mpi::iallgather(MPI_IN_PLACE, 0, run.get(),
                                       static_cast<char*>(whole.data()) + begin * width, 1,
                                       run.get(), comm_, &slots_[slot].request));
}

Request MpiCommunicator::broadcast(const Stream& stream, const Tensor& data, int root) {
  check_message(data);
  check(root >= 0 && root < size_, "broadcast from rank {} of {}", root, size_);
  if (size_ == 1 || data.elements() == 0) return {};
  const mpi::Count count = mpi::count_of(data.elements());
  const std::size_t slot = take_slot(stream, "MPI_Ibcast", CallKind::broadcast, byte_count(data));
  traffic_ += ring::broadcast(size_, byte_count(data));
  return started(slot, mpi::ibcast(data.data(), count, movable_type(data.dtype()), root, comm_,
                                   &slots_[slot].request));
}

Request MpiCommunicator::send(const Stream& stream, const Tensor& data, int to, int tag) {
  check_message(data);
  check_peer(to, tag);
  const mpi::Count count = mpi::count_of(data.elements());
  const std::size_t slot =
      take_slot(stream, "MPI_Isend", CallKind::send, byte_count(data), to, tag);
  traffic_ += ring::send(byte_count(data));
  return started(slot, mpi::isend(data.data(), count, movable_type(data.dtype()), to, tag, comm_,
                                  &slots_[slot].request));
}

Request MpiCommunicator::receive(const Stream& stream, const Tensor& data, int from, int tag) {
  check_message(data);
  check_peer(from, tag);
  const mpi::Count count = mpi::count_of(data.elements());
  const std::size_t slot =
      take_slot(stream, "MPI_Irecv", CallKind::receive, byte_count(data), from, tag);
  slots_[slot].expected_bytes = data.bytes();
  return started(slot, mpi::irecv(data.data(), count, movable_type(data.dtype()), from, tag, comm_,
                                  &slots_[slot].request));
}

Request MpiCommunicator::barrier(const Stream& stream) {
  if (size_ == 1) return {};
  const std::size_t slot = take_slot(stream, "MPI_Ibarrier", CallKind::barrier, 0);
  return started(slot, MPI_Ibarrier(comm_, &slots_[slot].request));
}

void MpiCommunicator::check_peer(int peer, int tag) const {
  check(peer >= 0 && peer < size_ && peer != rank_,
        "rank {} of {} exchanges a message with rank {}", rank_, size_, peer);
  check(tag >= 0, "a message with tag {}", tag);
  if (tag > largest_tag_)
    throw Error(fmt::format("message tag {} on {} is too large", tag, where_),
                fmt::format("this MPI has tags up to {}", largest_tag_),
                "Use fewer micro-batches or pipeline chunks, or another MPI library");
}

void MpiCommunicator::drain(const Event& event) {
  wait_for_device([&] { return event.done(); }, policy_, record_.board, record_.progress);
}

void MpiCommunicator::drain(const Stream& stream) {
  made_.record(stream);
  drain(made_);
}

std::size_t MpiCommunicator::take_slot(const Stream& stream, const char* call, CallKind kind,
                                       std::uint64_t bytes, int peer, int tag) {
  drain(stream);  // MPI knows no streams: the kernels that write the data must be done
  if (record_.clock != nullptr) {
    record_.clock->begins();
    record_.clock->enter();
  }
  const std::size_t slot = slots_.take();
  slots_[slot] =
      Slot{.message = noted(kind, bytes, peer, tag), .call = call, .expected_bytes = not_a_receive};
  return slot;
}

ProgressBoard::Message MpiCommunicator::noted(CallKind kind, std::uint64_t bytes, int peer,
                                              int tag) const {
  if (record_.board == nullptr) return {};
  return peer < 0 ? record_.board->start(record_.group, kind, bytes)
                  : record_.board->peer_message(record_.group, kind, bytes, peer, tag);
}

Request MpiCommunicator::started(std::size_t slot, int code) {
  if (record_.clock != nullptr) record_.clock->leave();
  if (code != MPI_SUCCESS) [[unlikely]] {
    slots_.give_back(slot);
    if (record_.clock != nullptr) record_.clock->ends();
    throw_mpi_error(code, slots_[slot].call, where_);
  }
  return Request(this, slot);
}

// The first pieces are sent at once, as MPI does; no MPI collective is called for these sums.
Request MpiCommunicator::summing(std::size_t slot, std::uint64_t operation) {
  slots_[slot].operation = operation;
  sums_->advance();
  if (record_.clock != nullptr) record_.clock->leave();
  return Request(this, slot);
}

void MpiCommunicator::finish(std::size_t index, int code, const MPI_Status& status) {
  const Slot& slot = slots_[index];
  slots_.give_back(index);
  if (record_.clock != nullptr) record_.clock->ends();
  check_mpi(code, slot.call, where_);
  if (record_.board != nullptr) record_.board->finish(slot.message);
  if (slot.found_bytes > 0) std::memmove(slot.result, slot.found, slot.found_bytes);
  if (slot.expected_bytes == not_a_receive) return;
  MPI_Count bytes = 0;
  check_mpi(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x", where_);
  check(bytes == slot.expected_bytes,
        "{} received {} bytes from rank {} of the group with tag {}, and expected {}", where_,
        static_cast<std::int64_t>(bytes), status.MPI_SOURCE, status.MPI_TAG, slot.expected_bytes);
}

// Blocks the caller itself, not the stream, so that work issued next to any stream finds the data.
void MpiCommunicator::wait(std::uintptr_t handle, const Stream&) {
  const MessageScope scope(record_.clock);
  MPI_Status status;
  const int code = [&] {
    Slot& slot = slots_[handle];
    const BoardWait waiting(record_.board, slot.message);
    if (slot.operation == 0) return wait_for(slot.request, policy_, &status, record_.progress);
    PatientProgress patience(record_.progress, policy_);
    while (!sums_->over(slot.operation)) patience.pause();
    return MPI_SUCCESS;
  }();
  finish(handle, code, status);
}

bool MpiCommunicator::test(std::uintptr_t handle) {
  const MessageScope scope(record_.clock);
  MPI_Status status;
  if (sums_) sums_->advance();
  Slot& slot = slots_[handle];
  int done = 0, code = MPI_SUCCESS;
  if (slot.operation == 0)
    code = MPI_Test(&slot.request, &done, &status);
  else
    done = sums_->over(slot.operation) ? 1 : 0;
  if (code == MPI_SUCCESS && done == 0) return false;
  finish(handle, code, status);
  return true;
}

}  // namespace triax
