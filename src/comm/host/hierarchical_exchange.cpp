// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/hierarchical_exchange.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "kernels/base/mpi/mpi_error.hpp"

namespace triax {
namespace {

constexpr std::size_t usual_operations = 128;  // reserved up front

MPI_Comm split(MPI_Comm ranks, int color, int key, const std::string& where) {
  MPI_Comm some = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(ranks, color, key, &some), "MPI_Comm_split", where);
  return some;
}

int rank_in(MPI_Comm ranks, const std::string& where) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(ranks, &rank), "MPI_Comm_rank", where);
  return rank;
}

int size_of_group(MPI_Comm ranks, const std::string& where) {
  int size = 1;
  check_mpi(MPI_Comm_size(ranks, &size), "MPI_Comm_size", where);
  return size;
}

// Returns on all ranks the text of the lowest rank that has one; empty if none has.
std::string first_text(MPI_Comm ranks, const std::string& own, WaitPolicy policy,
                       const std::string& where) {
  const int size = size_of_group(ranks, where);
  int first = own.empty() ? size : rank_in(ranks, where);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, ranks, &request),
            "MPI_Iallreduce", where);
  check_mpi(wait_for(request, policy), "MPI_Iallreduce", where);
  if (first == size) return {};
  std::array<char, 512> text{};
  own.copy(text.data(), text.size() - 1);
  check_mpi(
      MPI_Ibcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, ranks, &request),
      "MPI_Ibcast", where);
  check_mpi(wait_for(request, policy), "MPI_Ibcast", where);
  return text.data();
}

std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data());
}

}  // namespace

HierarchicalExchange::HierarchicalExchange(MPI_Comm ranks, int run, WaitPolicy policy,
                                           const std::string& where)
    : run_(run),
      node_(rank_in(ranks, where) / run),
      place_(rank_in(ranks, where) % run),
      nodes_(size_of_group(ranks, where) / run),
      ranks_of_node_(split(ranks, node_, place_, where)),
      crossing_(split(ranks, place_, node_, where), policy, where + " between nodes"),
      summing_(ranks_of_node_.get(), where),
      spreading_(ranks_of_node_.get(), where) {
  check(run > 1 && nodes_ > 1 && nodes_ * run == size_of_group(ranks, where),
        "{} ranks, of which {} are on each node", size_of_group(ranks, where), run);
  operations_.reserve(usual_operations);
  refusal_ = summing_.usable() ? spreading_.refusal() : summing_.refusal();
  if (!refusal_.empty()) refusal_ = fmt::format("{}: on its node {}", where, refusal_);
  refusal_ = first_text(ranks, refusal_, policy, where);
}

std::uint64_t HierarchicalExchange::begin(Operation operation) {
  if (ended_ == begun_) {
    operations_.clear();
    first_ = begun_;
  } else if (ended_ - first_ >= usual_operations / 2) {
    operations_.erase(operations_.begin(),
                      operations_.begin() + static_cast<std::ptrdiff_t>(ended_ - first_));
    first_ = ended_;
  }
  operations_.push_back(std::move(operation));
  return ++begun_;
}

std::uint64_t HierarchicalExchange::all_reduce(const Tensor& data) {
  const Tensor whole = data.flat();
  const std::int64_t count = whole.elements() / run_;
  const std::uint64_t summed =
      summing_.reduce_scatter(whole.slice(0, place_ * count, count), whole);
  return begin({.kind = Kind::all_reduce, .data = whole, .summed = summed});
}

// The sum over this node of the shards of node n's ranks is stored in region n of `input`. The
// node's ranks have read that region by then: for n > 0 it lies in the shards of an earlier node,
// and for n = 0 it is the first to be read.
std::uint64_t HierarchicalExchange::reduce_scatter(const Tensor& output, const Tensor& input) {
  const Tensor whole = input.flat();
  const std::int64_t count = output.elements();
  std::uint64_t summed = 0;
  for (int n = 0; n < nodes_; ++n)
    summed = summing_.reduce_scatter(whole.slice(0, n * count, count),
                                     whole.slice(0, n * run_ * count, run_ * count));
  return begin({.kind = Kind::reduce_scatter, .data = whole, .output = output, .summed = summed});
}

std::uint64_t HierarchicalExchange::all_gather(const Tensor& whole, std::int64_t from,
                                               std::int64_t bytes, const std::byte* own) {
  const Tensor data = whole.flat();
  const std::int64_t part = data.bytes() / (nodes_ * run_);
  std::byte* const here = bytes_of(data) + (node_ * run_ + place_) * part + from;
  if (own != here) std::memcpy(here, own, static_cast<std::size_t>(bytes));
  return begin({.kind = Kind::all_gather, .data = data, .begin = from, .bytes = bytes});
}

void HierarchicalExchange::cross(Operation& operation) {
  const Stream host;
  const Tensor& data = operation.data;
  if (operation.kind == Kind::all_reduce) {
    const std::int64_t count = data.elements() / run_;
    operation.crossing =
        crossing_.all_reduce(host, data.slice(0, place_ * count, count), ReduceOp::sum);
  } else if (operation.kind == Kind::reduce_scatter) {
    const std::int64_t count = operation.output.elements();
    operation.crossing = crossing_.reduce_scatter(host, data.slice(0, node_ * count, count),
                                                  data.slice(0, 0, nodes_ * count));
  } else {
    const std::int64_t part = data.elements() / (nodes_ * run_);
    const auto width = static_cast<std::int64_t>(size_of(data.dtype()));
    operation.crossing = crossing_.all_gather_run(
        host, data, place_ * part + operation.begin / width, operation.bytes / width);
  }
}

void HierarchicalExchange::spread(Operation& operation) {
  const Tensor& data = operation.data;
  if (operation.kind == Kind::all_reduce) {
    const std::int64_t bytes = data.bytes() / run_;
    operation.spread = spreading_.all_gather(data, 0, bytes, bytes_of(data) + place_ * bytes);
  } else if (operation.kind == Kind::reduce_scatter) {
    const Tensor& output = operation.output;
    const std::byte* const found = bytes_of(data) + node_ * output.bytes();
    if (found != output.data())
      std::memmove(output.data(), found, static_cast<std::size_t>(output.bytes()));
  } else {
    const std::int64_t part = data.elements() / (nodes_ * run_);
    for (int n = 0; n < nodes_; ++n) {
      const Tensor of_node = data.slice(0, n * run_ * part, run_ * part);
      operation.spread = spreading_.all_gather(
          of_node, operation.begin, operation.bytes,
          bytes_of(of_node) + place_ * of_node.bytes() / run_ + operation.begin);
    }
  }
}

bool HierarchicalExchange::advance() {
  bool moved = summing_.advance();
  moved |= spreading_.advance();
  for (; crossed_ < begun_ && summing_.over(at(crossed_).summed); moved = true)
    cross(at(crossed_++));
  for (; spread_ < crossed_ && at(spread_).crossing.test(); moved = true) spread(at(spread_++));
  for (; ended_ < spread_ && spreading_.over(at(ended_).spread); moved = true) ++ended_;
  return moved;
}

}  // namespace triax
