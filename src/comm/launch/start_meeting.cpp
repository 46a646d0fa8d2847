// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/start_meeting.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/mpi/wait.hpp"
#include "kernels/base/process/host_name.hpp"
#include "kernels/base/process/say.hpp"
#include "kernels/base/wait.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/comm/mpi/posted_message.hpp"
#include "src/comm/mpi/waited.hpp"
#include "src/comm/watchdog/watchdog.hpp"

namespace triax {
namespace {

enum Tag : int { here, arrival, verdict };
constexpr std::size_t name_bytes = 64;
constexpr std::size_t text_bytes = 4096;  // per reason; longer ones are cut
constexpr std::size_t verdict_bytes = text_bytes + 4 * name_bytes;
// Grace period after a failure: if all ranks read one file, all find the same error in it, and it
// is printed once without naming a rank.
constexpr double patience_for_others = 2.0;  // seconds

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
  checked(wait_for(request, WaitPolicy::yield), "MPI_Iallgather");
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += name_bytes) hosts.emplace_back(all.data() + at);
  return hosts;
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

StartMeeting::StartMeeting(MPI_Comm world, double patience_of_failed)
    : patience_of_failed_(patience_of_failed) {
  MPI_Request request = MPI_REQUEST_NULL;
  checked(MPI_Comm_idup(world, comm_.address(), &request), "MPI_Comm_idup");
  checked(wait_for(request, WaitPolicy::yield), "MPI_Comm_idup");
  checked(MPI_Comm_rank(comm_.get(), &rank_), "MPI_Comm_rank");
  checked(MPI_Comm_size(comm_.get(), &size_), "MPI_Comm_size");
  hosts_ = hosts_of(comm_.get(), size_);
}

/// Reason why a rank cannot continue; status 0: it can.
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

/// Reports of the ranks, collected by rank 0.
class StartMeeting::Arrivals {
 public:
  Arrivals(MPI_Comm comm, int size, const Failure& own)
      : comm_(comm), reports_(static_cast<std::size_t>(size)) {
    reports_.front() = own;
  }
  /// Waits until all have reported, at most `seconds`, or a short time after one has failed.
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
  /// Lowest rank that failed; -1 if none.
  int first_failed() const {
    const auto failed =
        std::ranges::find_if(reports_, [](const auto& one) { return one && one->status != 0; });
    return failed == reports_.end() ? -1 : static_cast<int>(failed - reports_.begin());
  }
  /// True if all reports so far are equal.
  bool alike() const {
    std::vector<std::optional<Failure>> reported;
    std::ranges::copy_if(reports_, std::back_inserter(reported),
                         &std::optional<Failure>::has_value);
    return std::ranges::adjacent_find(reported, std::not_equal_to()) == reported.end();
  }
  const Failure& of(int rank) const { return *reports_[static_cast<std::size_t>(rank)]; }
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < reports_.size(); ++r)
      if (!reports_[r]) ranks.push_back(static_cast<int>(r));
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
      reports_[static_cast<std::size_t>(status.MPI_SOURCE)] = Failure::of(text);
    }
  }

  MPI_Comm comm_;
  std::vector<std::optional<Failure>> reports_;  // by rank; nullopt: no report yet
};

void StartMeeting::meet(double seconds) const {
  if (size_ == 1) return;
  rank_ == 0 ? gather(seconds, {}) : report(seconds, {});
}

void StartMeeting::fail(const std::string& why, int status) const {
  const Failure own{status, why.substr(0, text_bytes)};
  if (size_ > 1) rank_ == 0 ? gather(patience_of_failed_, own) : report(patience_of_failed_, own);
  own.raise();
}

// Rank 0: first sends `here` to all, so that they leave the timeout to it, and finally sends
// the verdict.
void StartMeeting::gather(double seconds, const Failure& own) const {
  std::vector<PostedMessage> sent;
  const auto send_all = [&](Tag tag, const std::string& text) {
    for (int r = 1; r < size_; ++r) sent.push_back(PostedMessage::sent(comm_.get(), r, tag, text));
  };
  send_all(Tag::here, "");
  Arrivals arrivals(comm_.get(), size_, own);
  arrivals.wait(seconds);
  Failure failure;
  if (const int rank = arrivals.first_failed(); rank >= 0) {
    failure = arrivals.of(rank);
    const std::string who = ranks_on_hosts({rank}, hosts_);
    const std::size_t missing = arrivals.missing().size();
    if (!arrivals.alike())
      failure.why = fmt::format("{}: {}", who, failure.why);
    else if (missing > 0)
      failure.why += fmt::format(
          " (found by {}{}; {} of {} had not yet come)", who,
          missing + 1 < static_cast<std::size_t>(size_) ? " and all others that have come" : "",
          missing, size_);
  } else if (const std::vector<int> missing = arrivals.missing(); !missing.empty()) {
    end(missing, seconds);
  }
  send_all(Tag::verdict, failure.text());
  // After a failure, some ranks may never come to receive it.
  (void)complete_within(sent, failure.status == 0 ? seconds : patience_for_others);
  if (failure.status != 0) failure.raise();
}

// Ranks except 0. If rank 0 is there, it ends the job itself, hence the grace period.
void StartMeeting::report(double seconds, const Failure& own) const {
  constexpr double grace = 10.0;  // seconds
  std::array<PostedMessage, 2> first = {
      PostedMessage::sent(comm_.get(), 0, Tag::arrival, own.text()),
      PostedMessage::received(comm_.get(), 0, Tag::here, 0)};
  std::array<PostedMessage, 1> last = {
      PostedMessage::received(comm_.get(), 0, Tag::verdict, verdict_bytes)};
  if (complete_within(first, seconds) && complete_within(last, seconds + grace)) {
    if (const Failure failure = Failure::of(last[0].text()); failure.status != 0) failure.raise();
    return;
  }
  if (own.status != 0) own.raise();
  // Staggered by rank, so that one of the waiting ranks reports first, and the next one if that one
  // is missing too.
  std::this_thread::sleep_for(std::chrono::milliseconds(100) * std::min(rank_ - 1, 50));
  end({0}, seconds);
}

void StartMeeting::end(const std::vector<int>& missing, double seconds) const {
  say("triax: {} of {} ranks, seen from rank {} on {}, did not come to the start within {:.4g} s "
      "(run.collective_timeout): {}. Such a rank may still be reading the job or looking for its "
      "data. Check that the file systems respond there, or raise run.collective_timeout. The job "
      "ends with status {}; rerun the same command\n",
      missing.size(), size_, rank_, hosts_[static_cast<std::size_t>(rank_)], seconds,
      ranks_on_hosts(missing, hosts_), run_time_failure);
  end_job(run_time_failure);
}

}  // namespace triax
