// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/node_exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "src/comm/interface/planned_messages.hpp"
#include "src/comm/mpi/rank_order_sum.hpp"

namespace triax {
namespace {

constexpr std::uint64_t depth = node::depth;
constexpr std::int64_t line = 64;
constexpr std::size_t most_kept = 64;  // finished operations kept in the list
// The number of operations under way depends on the pace of other ranks: this capacity is reserved
// up front.
constexpr std::size_t usual_operations = 2 * most_kept;

std::int64_t round_up(std::int64_t bytes, std::int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data());
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

// Number of rounds this rank has finished, per step. One writer; each counter in cache lines of its
// own.
struct NodeExchange::Counters {
  struct alignas(2 * line) Counter {
    std::atomic<std::uint64_t> value{0};
  };
  enum : std::size_t { contributed, reduced, gathered, attends, count };
  std::array<Counter, count> all;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share the counters");

NodeExchange::NodeExchange(MPI_Comm ranks, const std::string& where) {
  check_mpi(MPI_Comm_rank(ranks, &rank_), "MPI_Comm_rank", where);
  check_mpi(MPI_Comm_size(ranks, &size_), "MPI_Comm_size", where);
  piece_bytes_ = node::piece_bytes(size_);
  slots_ = SharedSlots(ranks, "triax-messages", static_cast<std::size_t>(node::slot_bytes(size_)),
                       where);
  const auto n = static_cast<std::size_t>(size_);
  for (auto* seen : {&seen_contributed_, &seen_reduced_, &seen_gathered_}) seen->resize(n);
  terms_.resize(n);
  operations_.reserve(usual_operations);
}

// A slot is zeroed memory, which is a valid initial Counters object: no rank has to wait until the
// others have made theirs.
NodeExchange::Counters& NodeExchange::counters(int rank) const {
  static_assert(sizeof(Counters) <= node::header_bytes);
  return *std::launder(reinterpret_cast<Counters*>(slots_.slot(rank)));
}

std::byte* NodeExchange::room(int rank, std::uint64_t round) const {
  return slots_.slot(rank) + node::header_bytes +
         static_cast<std::int64_t>(round % depth) * size_ * piece_bytes_;
}

std::byte* NodeExchange::contribution(int rank, std::uint64_t round, int to) const {
  const int place = to < rank ? to : to - 1;  // a rank keeps nothing for itself
  return room(rank, round) + place * piece_bytes_;
}

std::byte* NodeExchange::result(int rank, std::uint64_t round) const {
  return room(rank, round) + (size_ - 1) * piece_bytes_;
}

std::uint64_t NodeExchange::begin(Operation operation, std::int64_t round_bytes) {
  if (gathered_ == begun_) {
    operations_.clear();
    contributing_ = reducing_ = gathering_ = 0;
  } else if (gathering_ >= most_kept) {
    operations_.erase(operations_.begin(),
                      operations_.begin() + static_cast<std::ptrdiff_t>(gathering_));
    contributing_ -= gathering_;
    reducing_ -= gathering_;
    gathering_ = 0;
  }
  operation.first = begun_;
  begun_ += static_cast<std::uint64_t>((operation.bytes + round_bytes - 1) / round_bytes);
  operation.end = begun_;
  operations_.push_back(operation);
  return operation.end;
}

std::uint64_t NodeExchange::all_reduce(const Tensor& data) {
  return begin({.kind = Kind::all_reduce,
                .type = data.dtype(),
                .data = bytes_of(data),
                .bytes = data.bytes()},
               size_ * piece_bytes_);
}

std::uint64_t NodeExchange::reduce_scatter(const Tensor& output, const Tensor& input) {
  return begin({.kind = Kind::reduce_scatter,
                .type = input.dtype(),
                .data = bytes_of(input),
                .out = bytes_of(output),
                .stride = output.bytes(),
                .bytes = output.bytes()},
               piece_bytes_);
}

std::uint64_t NodeExchange::all_gather(const Tensor& whole, std::int64_t run, std::int64_t bytes,
                                       const std::byte* own) {
  return begin({.kind = Kind::all_gather,
                .type = whole.dtype(),
                .data = bytes_of(whole) + run,
                .in = own,
                .stride = whole.bytes() / size_,
                .bytes = bytes},
               size_ * piece_bytes_);
}

// The piece of rank `rank` in a round of an operation.
NodeExchange::Piece NodeExchange::piece(const Operation& operation, std::uint64_t round,
                                        int rank) const {
  const auto index = static_cast<std::int64_t>(round - operation.first);
  if (operation.kind == Kind::all_reduce) {
    const std::int64_t begin = index * size_ * piece_bytes_;
    const std::int64_t length = std::min(size_ * piece_bytes_, operation.bytes - begin);
    const std::int64_t each = round_up((length + size_ - 1) / size_, line);
    const std::int64_t from = std::min(rank * each, length);
    return {begin + from, std::min(each, length - from)};
  }
  const std::int64_t most =
      operation.kind == Kind::all_gather ? size_ * piece_bytes_ : piece_bytes_;
  const std::int64_t begin = index * most;
  return {rank * operation.stride + begin, std::min(most, operation.bytes - begin)};
}

NodeExchange::Operation& NodeExchange::of(std::uint64_t round, std::size_t& at) {
  while (operations_[at].end <= round) ++at;
  return operations_[at];
}

bool NodeExchange::all_past(std::vector<std::uint64_t>& seen, std::uint64_t round,
                            int counter) const {
  for (int r = 0; r < size_; ++r) {
    std::uint64_t& known = seen[static_cast<std::size_t>(r)];
    if (r == rank_ || known > round) continue;
    known =
        counters(r).all[static_cast<std::size_t>(counter)].value.load(std::memory_order_acquire);
    if (known <= round) return false;
  }
  return true;
}

void NodeExchange::contribute() {
  const std::uint64_t round = contributed_;
  const Operation& operation = of(round, contributing_);
  if (operation.kind == Kind::all_gather) {
    const Piece own = piece(operation, round, rank_);
    const std::byte* const from = operation.in + (own.offset - rank_ * operation.stride);
    streamed_copy(room(rank_, round), from, own.bytes);
    if (from != operation.data + own.offset)
      copy_bytes(operation.data + own.offset, from, own.bytes);
  } else {
    for (int step = 1; step < size_; ++step) {
      const int to = (rank_ + step) % size_;
      const Piece part = piece(operation, round, to);
      streamed_copy(contribution(rank_, round, to), operation.data + part.offset, part.bytes);
    }
  }
  counters(rank_).all[Counters::contributed].value.store(++contributed_, std::memory_order_release);
}

void NodeExchange::reduce() {
  const std::uint64_t round = reduced_;
  const Operation& operation = of(round, reducing_);
  if (operation.kind != Kind::all_gather) {
    const Piece own = piece(operation, round, rank_);
    std::byte* const here = operation.data + own.offset;
    for (int r = 0; r < size_; ++r)
      terms_[static_cast<std::size_t>(r)] = r == rank_ ? here : contribution(r, round, rank_);
    const bool shares = operation.kind == Kind::all_reduce;
    std::byte* const to = shares ? here : operation.out + (own.offset - rank_ * operation.stride);
    rank_order_sum(operation.type, terms_, to, shares ? result(rank_, round) : nullptr, own.bytes,
                   here);
  }
  counters(rank_).all[Counters::reduced].value.store(++reduced_, std::memory_order_release);
}

void NodeExchange::gather() {
  const std::uint64_t round = gathered_;
  const Operation& operation = of(round, gathering_);
  if (operation.kind != Kind::reduce_scatter)
    for (int step = 1; step < size_; ++step) {
      const int from = (rank_ + step) % size_;
      const Piece part = piece(operation, round, from);
      const std::byte* const there =
          operation.kind == Kind::all_reduce ? result(from, round) : room(from, round);
      copy_bytes(operation.data + part.offset, there, part.bytes);
    }
  counters(rank_).all[Counters::gathered].value.store(++gathered_, std::memory_order_release);
}

// The number of pieces is limited, so that steady arrivals do not starve the process's other
// messages.
bool NodeExchange::advance() {
  constexpr int most_pieces = 16;
  for (int piece = 0; piece < most_pieces; ++piece) {
    const auto kind = [this](std::uint64_t round, std::size_t& at) { return of(round, at).kind; };
    if (gathered_ < reduced_ && (kind(gathered_, gathering_) != Kind::all_reduce ||
                                 all_past(seen_reduced_, gathered_, Counters::reduced)))
      gather();
    else if (reduced_ < contributed_ &&
             all_past(seen_contributed_, reduced_, Counters::contributed))
      reduce();
    else if (contributed_ < begun_ &&
             (contributed_ < depth ||
              all_past(seen_gathered_, contributed_ - depth, Counters::gathered)))
      contribute();
    else
      return piece > 0;
  }
  return true;
}

void NodeExchange::attend(bool here) {
  counters(rank_).all[Counters::attends].value.store(here ? 1 : 0, std::memory_order_relaxed);
}

bool NodeExchange::others_attend() const {
  for (int r = 0; r < size_; ++r)
    if (r != rank_ && counters(r).all[Counters::attends].value.load(std::memory_order_relaxed) != 0)
      return true;
  return false;
}

}  // namespace triax
