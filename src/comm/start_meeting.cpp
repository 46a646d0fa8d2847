#include "src/comm/start_meeting.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>

#include "kernels/base/host_name.hpp"
#include "kernels/base/wait.hpp"
#include "src/comm/mpi_error.hpp"
#include "src/comm/wait.hpp"
#include "src/comm/watchdog.hpp"

namespace triax {
namespace {

constexpr int here = 1;  // the tag of "I have come"
constexpr std::size_t name_bytes = 64;

void checked(int code, std::string_view call) {
  check_mpi(code, call, "the start of the job");
}

std::vector<std::string> hosts_of(MPI_Comm comm, int size) {
  std::string own = host_name().substr(0, name_bytes - 1);
  own.resize(name_bytes);
  std::vector<char> all(name_bytes * static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Iallgather(own.data(), name_bytes, MPI_CHAR, all.data(), name_bytes, MPI_CHAR, comm,
                         &request),
          "MPI_Iallgather");
  checked(wait_for(request, WaitPolicy::yield), "MPI_Wait");
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += name_bytes) hosts.emplace_back(all.data() + at);
  return hosts;
}

bool is_complete(std::span<MPI_Request> requests) {
  int done = 0;
  checked(
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
      "MPI_Testall");
  return done != 0;
}

// Whether all are complete before this process has waited so long.
bool complete_within(std::span<MPI_Request> requests, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr double longest_pause = 1.0;  // more: this process was stopped
  double waited = 0.0;
  auto last = Clock::now();
  for (Patience patience(WaitPolicy::yield);; patience.pause()) {
    if (is_complete(requests)) return true;
    const auto now = Clock::now();
    waited += std::min(longest_pause, std::chrono::duration<double>(now - last).count());
    last = now;
    if (waited >= seconds) return false;
  }
}

}  // namespace

std::string ranks_on_hosts(const std::vector<int>& ranks, const std::vector<std::string>& hosts) {
  constexpr std::size_t most = 8;
  std::vector<std::string> named;
  for (const int rank : ranks)
    if (named.size() < most)
      named.push_back(fmt::format("rank {} on {}", rank, hosts[static_cast<std::size_t>(rank)]));
  const std::size_t left = ranks.size() - named.size();
  return fmt::format("{}{}", fmt::join(named, ", "),
                     left > 0 ? fmt::format(" and {} more", left) : "");
}

StartMeeting::StartMeeting(MPI_Comm world) {
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Comm_idup(world, comm_.address(), &request), "MPI_Comm_idup");
  checked(wait_for(request, WaitPolicy::yield), "MPI_Wait");
  checked(MPI_Comm_rank(comm_.get(), &rank_), "MPI_Comm_rank");
  checked(MPI_Comm_size(comm_.get(), &size_), "MPI_Comm_size");
  hosts_ = hosts_of(comm_.get(), size_);
}

void StartMeeting::meet(double seconds) const {
  if (size_ == 1) return;
  if (rank_ == 0)
    wait_for_all(seconds);
  else
    wait_for_first(seconds);
}

MPI_Request StartMeeting::send_to(int rank) const {
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Isend(nullptr, 0, MPI_CHAR, rank, here, comm_.get(), &request), "MPI_Isend");
  return request;
}

MPI_Request StartMeeting::receive_from(int rank) const {
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Irecv(nullptr, 0, MPI_CHAR, rank, here, comm_.get(), &request), "MPI_Irecv");
  return request;
}

// Tells all that it is here, so that they leave the end of the waiting to it, and once more when
// all have come.
void StartMeeting::wait_for_all(double seconds) const {
  std::vector<MPI_Request> arrivals, told;
  for (int r = 1; r < size_; ++r) arrivals.push_back(receive_from(r));
  for (int r = 1; r < size_; ++r) told.push_back(send_to(r));
  if (!complete_within(arrivals, seconds)) {
    std::vector<int> missing;
    for (int r = 1; r < size_; ++r)
      if (!is_complete({&arrivals[static_cast<std::size_t>(r - 1)], 1})) missing.push_back(r);
    if (!missing.empty()) end(missing, seconds);
  }
  for (int r = 1; r < size_; ++r) told.push_back(send_to(r));
  for (MPI_Request& request : told) checked(wait_for(request, WaitPolicy::yield), "MPI_Wait");
}

// Where rank 0 is not the one that is missing, it is to end the job itself: hence the grace.
void StartMeeting::wait_for_first(double seconds) const {
  constexpr double grace = 10.0;  // seconds
  std::vector<MPI_Request> first = {send_to(0), receive_from(0)};
  std::vector<MPI_Request> last = {receive_from(0)};
  if (complete_within(first, seconds) && complete_within(last, seconds + grace)) return;
  // One of those that wait says it, and another where that is missing too.
  std::this_thread::sleep_for(std::chrono::milliseconds(100) * std::min(rank_ - 1, 50));
  end({0}, seconds);
}

void StartMeeting::end(const std::vector<int>& missing, double seconds) const {
  fmt::print(stderr,
             "triax: {} of {} ranks, seen from rank {} on {}, did not come to the start within "
             "{:.4g} s (run.collective_timeout): {}. Such a rank may still be reading the job, or "
             "looking for its data: see whether the file systems answer there, or raise "
             "run.collective_timeout. The job ends with status {}; the same command begins again\n",
             missing.size(), size_, rank_, hosts_[static_cast<std::size_t>(rank_)], seconds,
             ranks_on_hosts(missing, hosts_), run_time_failure);
  end_job(run_time_failure);
}

}  // namespace triax
