// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/mpi/agree.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/process/process_limits.hpp"
#include "kernels/base/wait.hpp"

namespace triax {
std::string failure_text(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return error.what();
  std::string why = "an allocation was refused", remedy;
  for (const ProcessLimit& limit : process_limits)
    if (const auto bytes = bytes_of_limit(limit)) {
      why += fmt::format("; {} is limited to {}", limit.name, size_text(*bytes));
      remedy += fmt::format("{}. Or: ", limit.remedy);
    }
  return Error("out of memory", why,
               remedy +
                   "Make the micro-batch, data.seq_length or the model smaller, or use more ranks "
                   "on more nodes")
      .what();
}

namespace {

[[noreturn]] void throw_failure(const std::string& text, FailureKind kind) {
  if (kind == FailureKind::usage) throw UsageError(text);
  throw Error(text);
}

constexpr std::size_t most_at_once = std::size_t{1} << 24;  // counts are int

template <class T>
void sum(const Ranks& ranks, std::span<T> values, MPI_Datatype type) {
  const MPI_Comm comm = ranks.comm;
  const int size = ranks.size;
  const WaitScope waiting(ranks.watch);
  while (size > 1 && !values.empty()) {
    const std::size_t count = std::min(most_at_once, values.size());
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(count), type, MPI_SUM,
                             comm, &request),
              "MPI_Iallreduce", file_ranks);
    wait_yielding(request);
    values = values.subspan(count);
  }
}

}  // namespace

Ranks::Ranks(MPI_Comm ranks, WaitWatch* waits) : comm(ranks), watch(waits) {
  if (comm == MPI_COMM_NULL) return;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", file_ranks);
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size", file_ranks);
}

void agree(const Ranks& ranks, const std::string& failure, FailureKind kind) {
  const int size = ranks.size;
  if (size == 1) {
    if (!failure.empty()) throw_failure(failure, kind);
    return;
  }
  const int mine = 2 * ranks.rank + (kind == FailureKind::usage ? 1 : 0);
  int first = 2 * size;
  {
    const WaitScope waiting(ranks.watch);
    MPI_Request request = MPI_REQUEST_NULL;
    const int own = failure.empty() ? first : mine;
    check_mpi(MPI_Iallreduce(&own, &first, 1, MPI_INT, MPI_MIN, ranks.comm, &request),
              "MPI_Iallreduce", file_ranks);
    wait_yielding(request);
  }
  const int rank = first / 2;
  if (rank == size) return;
  const std::string text = broadcast_text(ranks, failure, rank);
  throw_failure(fmt::format("rank {}: {}", rank, text),
                first % 2 == 1 ? FailureKind::usage : FailureKind::run_time);
}

std::string broadcast_text(const Ranks& ranks, std::string text, int root) {
  if (ranks.size == 1) return text;
  const WaitScope waiting(ranks.watch);
  auto length = static_cast<int>(text.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&length, 1, MPI_INT, root, ranks.comm, &request), "MPI_Ibcast", file_ranks);
  wait_yielding(request);
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Ibcast(text.data(), length, MPI_CHAR, root, ranks.comm, &request), "MPI_Ibcast",
            file_ranks);
  wait_yielding(request);
  return text;
}

void sum_over_ranks(const Ranks& ranks, std::span<std::uint64_t> values) {
  sum(ranks, values, MPI_UINT64_T);
}

void sum_over_ranks(const Ranks& ranks, std::span<double> values) {
  sum(ranks, values, MPI_DOUBLE);
}

void broadcast_numbers(const Ranks& ranks, std::span<std::int64_t> values, int root) {
  const WaitScope waiting(ranks.watch);
  while (ranks.size > 1 && !values.empty()) {
    const std::size_t count = std::min(most_at_once, values.size());
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        MPI_Ibcast(values.data(), static_cast<int>(count), MPI_INT64_T, root, ranks.comm, &request),
        "MPI_Ibcast", file_ranks);
    wait_yielding(request);
    values = values.subspan(count);
  }
}

std::vector<std::int64_t> gather_over_ranks(const Ranks& ranks,
                                            std::span<const std::int64_t> values) {
  std::vector<std::int64_t> all(values.begin(), values.end());
  if (ranks.size == 1) return all;
  all.resize(values.size() * static_cast<std::size_t>(ranks.size));
  const auto count = static_cast<int>(values.size());
  const WaitScope waiting(ranks.watch);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(values.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T,
                           ranks.comm, &request),
            "MPI_Iallgather", file_ranks);
  wait_yielding(request);
  return all;
}

}  // namespace triax
