// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/stall_exchange.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "kernels/base/process/quiet_thread.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int looks_in_a_period = 4;  // per period, of the rank that collects answers

std::string error_text(const char* what, const std::string& path, int error) {
  return fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(error));
}

// Progress that nodes wrote into a directory. A file is read once each time it is written.
class Heard {
 public:
  // `own`: name of this node's file, which is not read.
  Heard(std::string directory, std::string own)
      : directory_(std::move(directory)), own_(std::move(own)) {}

  void ignore_what_is_there() {
    look([](File&, const fs::path&) {});
  }
  void read_what_is_new() {
    look([](File& file, const fs::path& path) {
      std::ostringstream image;
      image << std::ifstream(path, std::ios::binary).rdbuf();
      auto ranks = ProgressBoard::read_image(image.str());
      if (ranks.empty())
        file.written = {};  // being replaced, or not visible at this moment: read it again
      else
        file.ranks = std::move(ranks);
    });
  }
  std::vector<RankProgress> ranks() const {
    std::vector<RankProgress> all;
    for (const auto& [name, file] : files_)
      all.insert(all.end(), file.ranks.begin(), file.ranks.end());
    return all;
  }

 private:
  struct File {
    fs::file_time_type written;
    std::vector<RankProgress> ranks;
  };

  template <class Use>
  void look(const Use& use) {
    std::error_code error;
    for (fs::directory_iterator entry(directory_, error), none; !error && entry != none;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.ends_with(".tmp") || name == own_) continue;
      std::error_code gone;
      const auto written = fs::last_write_time(entry->path(), gone);
      File& file = files_[name];
      if (gone || file.written == written) continue;
      file.written = written;
      use(file, entry->path());
    }
  }

  std::string directory_, own_;
  std::map<std::string, File> files_;
};

}  // namespace

bool is_listed(const std::string& path) {
  std::error_code error;
  const fs::path name = fs::path(path).filename();
  for (fs::directory_iterator entry(fs::path(path).parent_path(), error), none;
       !error && entry != none; entry.increment(error))
    if (entry->path().filename() == name) return true;
  return false;
}

StallExchange::StallExchange(const ProgressBoard& board, std::string directory, double seconds)
    : board_(board),
      directory_(std::move(directory)),
      limit_(patience(seconds)),
      period_(std::min(10.0, seconds / 20.0)),
      thread_(start_quiet_thread([this] { run(); })) {}

StallExchange::~StallExchange() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

double StallExchange::patience(double seconds) {
  return std::min(90.0, seconds / 4.0);
}

StallExchange::Answers StallExchange::ask(bool insists) {
  constexpr Seconds grace(1.0);  // for the thread; if it takes longer, a file system hangs
  std::unique_lock lock(mutex_);
  state_ = insists ? State::insisting : State::asked;
  changed_.notify_all();
  const auto answered = [&] { return state_ == State::answered; };
  if (changed_.wait_for(lock, Seconds(limit_) + grace, answered))
    return std::exchange(answers_, {});
  state_ = State::idle;  // run() removes what a late answer creates
  return {.first = true,
          .ranks = {},
          .taken_back = false,
          .hangs = true,
          .problem = "the file system hangs at " + directory_};
}

void StallExchange::take_back() {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::answered) return;  // the file system may hang
  }
  remove_directory();
}

// A rename first: other nodes may still be writing, and the directory must disappear at once.
void StallExchange::remove_directory() const {
  const std::string aside = directory_ + ".over";
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  fs::rename(directory_, aside, ignored);
  fs::remove_all(aside, ignored);
}

void StallExchange::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    changed_.wait_for(lock, Seconds(period_), [&] { return over_ || is_asked(state_); });
    const State state = state_;
    lock.unlock();
    Answers answers;
    if (is_asked(state))
      answers = collect(state == State::insisting);
    else if (board_.speaks_for_node() && is_listed(directory_))
      (void)tell();  // an error here shows at the rank that asks: it did not hear of this node
    lock.lock();
    if (!is_asked(state)) continue;
    if (state_ != state) {  // the file system hung until nobody waited for the answers
      lock.unlock();
      if (made_) remove_directory();
      lock.lock();
      continue;
    }
    answers_ = std::move(answers);
    state_ = State::answered;
    changed_.notify_all();
  }
}

// Returns the error text, empty on success. Another rank of the node may write the same file.
std::string StallExchange::tell() const {
  const std::string path = fmt::format("{}/node-{}", directory_, board_.first_rank_of_node());
  const std::string part = fmt::format("{}.{}.tmp", path, getpid());
  const std::string image = board_.node_image();
  errno = EIO;  // default for a stream error that sets no errno
  std::ofstream file(part, std::ios::binary);
  file << image;
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0) return "";
  return error_text("write", path, errno);
}

StallExchange::Answers StallExchange::collect(bool insists) {
  Answers answers;
  made_ = false;
  if (insists && !is_listed(directory_)) {
    answers.taken_back = true;
    return answers;
  }
  made_ = ::mkdir(directory_.c_str(), 0777) == 0;
  if (!made_) {
    if (errno != EEXIST) {
      answers.problem = error_text("make", directory_, errno);
      return answers;
    }
    answers.first = false;
  }
  answers.problem = tell();
  if (!answers.first && !insists) return answers;
  Heard heard(directory_, fmt::format("node-{}", board_.first_rank_of_node()));
  if (!answers.first) heard.ignore_what_is_there();
  const auto end = Clock::now() + Seconds(limit_);
  for (int looks = 1;; ++looks) {
    heard.read_what_is_new();
    answers.ranks = heard.ranks();
    if (board_.has_all(answers.ranks) || Clock::now() >= end) return answers;
    if (over_after(period_ / looks_in_a_period)) return answers;
    if (looks % looks_in_a_period == 0) answers.problem = tell();
  }
}

// Waits for `seconds` or until destruction; true in the second case.
bool StallExchange::over_after(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, Seconds(seconds), [&] { return over_; });
}

}  // namespace triax
