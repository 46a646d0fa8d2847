#include "src/comm/start_meeting.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/host_name.hpp"
#include "kernels/base/wait.hpp"
#include "src/comm/mpi_error.hpp"
#include "src/comm/mpi_session.hpp"
#include "src/comm/wait.hpp"
#include "src/comm/watchdog.hpp"

namespace triax {
namespace {

enum Tag : int { here, arrival, verdict };
constexpr std::size_t name_bytes = 64;
constexpr std::size_t text_bytes = 4096;  // of a reason; longer ones are cut
// A rank that cannot go on waits so long for rank 0, which may be the one that never comes.
constexpr double patience_of_failed = 15.0;  // seconds
// Where all read one file, all find the same wrong with it: that is said once, of no rank.
constexpr double patience_for_others = 2.0;

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

/// Seconds of a wait, without those in which this process was stopped.
class Waited {
 public:
  double seconds() {
    constexpr double longest_pause = 1.0;
    const auto now = Clock::now();
    waited_ += std::min(longest_pause, std::chrono::duration<double>(now - last_).count());
    last_ = now;
    return waited_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double waited_ = 0.0;
  Clock::time_point last_ = Clock::now();
};

bool complete_within(std::span<MPI_Request> requests, double seconds) {
  Waited waited;
  for (Patience patience(WaitPolicy::yield);; patience.pause()) {
    int done = 0;
    checked(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (done != 0) return true;
    if (waited.seconds() >= seconds) return false;
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

/// Why a rank cannot go on; status 0: it can.
struct StartMeeting::Failure {
  int status = 0;
  std::string why;

  static Failure of(const std::string& text) {
    return text.empty() ? Failure() : Failure{text.front(), text.substr(1)};
  }
  std::string text() const { return static_cast<char>(status) + why; }
  bool operator==(const Failure&) const = default;
  [[noreturn]] void raise() const {
    if (status == usage_failure) throw UsageError(why);
    throw Error(why);
  }
};

/// What the ranks tell rank 0.
class StartMeeting::Arrivals {
 public:
  Arrivals(MPI_Comm comm, int size, const Failure& own)
      : comm_(comm), told_(static_cast<std::size_t>(size)) {
    told_.front() = own;
  }
  /// Until all have come, or so many seconds have passed, or a little after one has failed.
  void wait(double seconds) {
    Waited waited;
    double until = seconds;
    for (Patience patience(WaitPolicy::yield);; patience.pause()) {
      take();
      if (missing().empty()) return;
      const double now = waited.seconds();
      if (first_failed() >= 0) until = std::min(until, now + patience_for_others);
      if (now >= until) return;
    }
  }
  /// The lowest rank that failed; -1: none.
  int first_failed() const {
    const auto failed =
        std::ranges::find_if(told_, [](const auto& told) { return told && told->status != 0; });
    return failed == told_.end() ? -1 : static_cast<int>(failed - told_.begin());
  }
  bool alike() const {
    return std::ranges::adjacent_find(told_, std::not_equal_to()) == told_.end();
  }
  const Failure& of(int rank) const { return *told_[static_cast<std::size_t>(rank)]; }
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < told_.size(); ++r)
      if (!told_[r]) ranks.push_back(static_cast<int>(r));
    return ranks;
  }

 private:
  void take() {
    for (;;) {
      int found = 0, bytes = 0;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      checked(MPI_Improbe(MPI_ANY_SOURCE, Tag::arrival, comm_, &found, &message, &status),
              "MPI_Improbe");
      if (found == 0) return;
      checked(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      std::string text(static_cast<std::size_t>(bytes), ' ');
      checked(MPI_Mrecv(text.data(), bytes, MPI_BYTE, &message, &status), "MPI_Mrecv");
      told_[static_cast<std::size_t>(status.MPI_SOURCE)] = Failure::of(text);
    }
  }

  MPI_Comm comm_;
  std::vector<std::optional<Failure>> told_;  // by rank; nothing: it has not come
};

void StartMeeting::meet(double seconds) const {
  if (size_ == 1) return;
  rank_ == 0 ? gather(seconds, {}) : report(seconds, {});
}

void StartMeeting::fail(const std::string& why, int status) const {
  const Failure own{status, why.substr(0, text_bytes)};
  if (size_ > 1) rank_ == 0 ? gather(patience_of_failed, own) : report(patience_of_failed, own);
  own.raise();
}

MPI_Request StartMeeting::send_to(int rank, int tag, const std::string& text) const {
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank, tag, comm_.get(),
                    &request),
          "MPI_Isend");
  return request;
}

MPI_Request StartMeeting::receive_from(int rank, int tag, std::string& text) const {
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Irecv(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank, tag, comm_.get(),
                    &request),
          "MPI_Irecv");
  return request;
}

// Tells all that it is here, so that they leave the end of the waiting to it, and once more what
// came of it.
void StartMeeting::gather(double seconds, const Failure& own) const {
  const std::string nothing;
  std::vector<MPI_Request> told;
  for (int r = 1; r < size_; ++r) told.push_back(send_to(r, Tag::here, nothing));
  Arrivals arrivals(comm_.get(), size_, own);
  arrivals.wait(seconds);
  Failure failure;
  if (const int rank = arrivals.first_failed(); rank >= 0) {
    failure = arrivals.of(rank);
    if (!arrivals.alike())
      failure.why = fmt::format("{}: {}", ranks_on_hosts({rank}, hosts_), failure.why);
  } else if (const std::vector<int> missing = arrivals.missing(); !missing.empty()) {
    end(missing, seconds);
  }
  const std::string text = failure.text();
  for (int r = 1; r < size_; ++r) told.push_back(send_to(r, Tag::verdict, text));
  // Where one has failed, another may never come.
  (void)complete_within(told, failure.status == 0 ? seconds : patience_for_others);
  if (failure.status != 0) failure.raise();
}

// Where rank 0 is not the one that is missing, it is to end the job itself: hence the grace.
void StartMeeting::report(double seconds, const Failure& own) const {
  constexpr double grace = 10.0;  // seconds
  const std::string mine = own.text();
  std::string nothing;
  std::string text(text_bytes + 2 * name_bytes, '\0');
  std::vector<MPI_Request> first = {send_to(0, Tag::arrival, mine),
                                    receive_from(0, Tag::here, nothing)};
  std::vector<MPI_Request> last = {receive_from(0, Tag::verdict, text)};
  if (complete_within(first, seconds) && complete_within(last, seconds + grace)) {
    if (const Failure failure = Failure::of(text.c_str()); failure.status != 0) failure.raise();
    return;
  }
  if (own.status != 0) own.raise();
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
