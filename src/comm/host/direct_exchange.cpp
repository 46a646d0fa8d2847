// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/direct_exchange.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "src/comm/mpi/rank_order_sum.hpp"

namespace triax {
namespace {

constexpr std::size_t most_kept = 64;  // finished operations kept in the list
// The number of operations under way depends on the pace of other ranks: this capacity is reserved
// up front.
constexpr std::size_t usual_operations = 2 * most_kept;

std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data());
}

}  // namespace

DirectExchange::DirectExchange(MPI_Comm ranks, int tag, const std::string& where)
    : ranks_(ranks), tag_(tag), where_(where) {
  check_mpi(MPI_Comm_rank(ranks, &rank_), "MPI_Comm_rank", where);
  check_mpi(MPI_Comm_size(ranks, &size_), "MPI_Comm_size", where);
  check(size_ > 1, "sums of one rank");
  terms_.resize(static_cast<std::size_t>(size_));
  operations_.reserve(usual_operations);
}

DirectExchange::~DirectExchange() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (Messages& messages : under_way_)
    if (messages.receive != MPI_REQUEST_NULL) {
      MPI_Cancel(&messages.receive);
      MPI_Request_free(&messages.receive);
    }
}

std::uint64_t DirectExchange::begin(Operation operation, bool gathers) {
  if (freed_ == begun_) {
    operations_.clear();
    starting_ = finishing_ = 0;
  } else if (finishing_ >= most_kept) {
    operations_.erase(operations_.begin(),
                      operations_.begin() + static_cast<std::ptrdiff_t>(finishing_));
    starting_ -= finishing_;
    finishing_ = 0;
  }
  operation.piece =
      std::min(operation.stride, static_cast<std::int64_t>(direct::piece_bytes(size_)));
  operation.pieces = (operation.stride + operation.piece - 1) / operation.piece;
  operation.first = begun_;
  begun_ += static_cast<std::uint64_t>((gathers ? 2 : 1) * operation.pieces * (size_ - 1));
  operation.end = begun_;
  operations_.push_back(operation);
  return operation.end;
}

std::uint64_t DirectExchange::all_reduce(const Tensor& data) {
  const auto bytes = static_cast<std::uint64_t>(data.bytes());
  return begin({.type = data.dtype(),
                .data = bytes_of(data),
                .bytes = data.bytes(),
                .stride = static_cast<std::int64_t>(direct::part_bytes(size_, bytes))},
               true);
}

std::uint64_t DirectExchange::reduce_scatter(const Tensor& output, const Tensor& input) {
  return begin({.type = input.dtype(),
                .data = bytes_of(input),
                .out = bytes_of(output),
                .bytes = input.bytes(),
                .stride = output.bytes()},
               false);
}

DirectExchange::Operation& DirectExchange::of(std::uint64_t step, std::size_t& at) {
  while (operations_[at].end <= step) ++at;
  return operations_[at];
}

DirectExchange::Step DirectExchange::step_of(const Operation& operation, std::uint64_t step) const {
  const auto number = static_cast<std::int64_t>(step - operation.first);
  const std::int64_t piece = number / (size_ - 1);
  return {piece >= operation.pieces, piece % operation.pieces,
          static_cast<int>(number % (size_ - 1)) + 1};
}

DirectExchange::Run DirectExchange::run(const Operation& operation, int rank,
                                        std::int64_t piece) const {
  const std::int64_t part = std::min(rank * operation.stride, operation.bytes);
  const std::int64_t end = std::min(part + operation.stride, operation.bytes);
  const std::int64_t begin = std::min(part + piece * operation.piece, end);
  return {begin, std::min(operation.piece, end - begin)};
}

std::byte* DirectExchange::room(std::uint64_t step) const {
  return static_cast<std::byte*>(memory_.data()) + step % direct::messages_held(size_) * room_;
}

// Memory is replaced for an operation larger than all before, once the messages under way are
// finished.
bool DirectExchange::has_room(const Operation& operation) {
  const auto stride = static_cast<std::uint64_t>(operation.stride);
  const std::uint64_t room = direct::held_bytes(size_, stride) / direct::messages_held(size_);
  if (room <= room_) return true;
  if (freed_ != started_) return false;
  memory_ = {};
  memory_ = Buffer(direct::held_bytes(size_, stride));
  room_ = room;
  return true;
}

void DirectExchange::release_held() {
  check(freed_ == begun_, "sums are under way in {}", where_);
  memory_ = {};
  room_ = 0;
}

bool DirectExchange::start_step() {
  if (started_ == begun_ || started_ - done_ == direct::window ||
      started_ - freed_ == direct::messages_held(size_))
    return false;
  const Operation& operation = of(started_, starting_);
  if (!has_room(operation)) return false;
  const Step step = step_of(operation, started_);
  const int to = (rank_ + step.distance) % size_;
  const int from = (rank_ + size_ - step.distance) % size_;
  const Run own = run(operation, rank_, step.number);
  const Run theirs = run(operation, step.gathers ? from : to, step.number);
  Messages& messages = under_way_[started_ % direct::window];
  if (step.gathers) {
    // Gathering overwrites the elements that were sent as terms: it starts once this piece is
    // summed here and those sends are complete.
    const auto summed = static_cast<std::uint64_t>((step.number + 1) * (size_ - 1));
    if (freed_ < operation.first + summed) return false;
    receive(messages, operation.data + theirs.offset, theirs.bytes, from);
    send(messages, operation.data + own.offset, own.bytes, to);
  } else {
    receive(messages, room(started_), own.bytes, from);
    send(messages, operation.data + theirs.offset, theirs.bytes, to);
  }
  ++started_;
  return true;
}

void DirectExchange::send(Messages& messages, const std::byte* data, std::int64_t bytes, int to) {
  if (bytes > 0)
    check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag_, ranks_, &messages.send),
              "MPI_Isend", where_);
}

void DirectExchange::receive(Messages& messages, std::byte* data, std::int64_t bytes, int from) {
  messages.expected = bytes;
  messages.from = from;
  if (bytes > 0)
    check_mpi(
        MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag_, ranks_, &messages.receive),
        "MPI_Irecv", where_);
}

bool DirectExchange::complete(Messages& messages) const {
  int done = 0;
  if (messages.receive != MPI_REQUEST_NULL) {
    MPI_Status status;
    check_mpi(MPI_Test(&messages.receive, &done, &status), "MPI_Irecv", where_);
    if (done == 0) return false;
    int bytes = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count", where_);
    check(bytes == messages.expected,
          "{} received {} bytes of a sum from rank {} of the group, and expected {}", where_, bytes,
          messages.from, messages.expected);
  }
  if (messages.send == MPI_REQUEST_NULL) return true;
  check_mpi(MPI_Test(&messages.send, &done, MPI_STATUS_IGNORE), "MPI_Isend", where_);
  return done != 0;
}

bool DirectExchange::finish_step() {
  if (done_ == started_ || !complete(under_way_[done_ % direct::window])) return false;
  const Operation& operation = of(done_, finishing_);
  const Step step = step_of(operation, done_);
  ++done_;
  const bool last = step.distance == size_ - 1;
  if (last && !step.gathers) sum(operation, step.number);
  if (last || step.gathers) freed_ = done_;
  return true;
}

// Sums a piece whose steps are all done: step s brought the term of the rank s positions before
// this one.
void DirectExchange::sum(const Operation& operation, std::int64_t piece) {
  const Run own = run(operation, rank_, piece);
  if (own.bytes == 0) return;
  std::byte* const here = operation.data + own.offset;
  const std::uint64_t first = done_ - static_cast<std::uint64_t>(size_ - 1);
  for (int r = 0; r < size_; ++r) {
    const int distance = (rank_ - r + size_) % size_;
    terms_[static_cast<std::size_t>(r)] =
        r == rank_ ? here : room(first + static_cast<std::uint64_t>(distance - 1));
  }
  std::byte* const to =
      operation.out == nullptr ? here : operation.out + (own.offset - rank_ * operation.stride);
  rank_order_sum(operation.type, terms_, to, nullptr, own.bytes, here);
}

// The number of moves is limited, so that steady arrivals do not starve the process's other
// messages.
bool DirectExchange::advance() {
  constexpr int most_moves = 4 * direct::window;
  int moves = 0;
  while (moves < most_moves && (start_step() || finish_step())) ++moves;
  return moves > 0;
}

}  // namespace triax
