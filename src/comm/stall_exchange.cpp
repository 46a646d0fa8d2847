#include "src/comm/stall_exchange.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "kernels/base/quiet_thread.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

}  // namespace

StallExchange::StallExchange(const ProgressBoard& board, std::string directory, double seconds)
    : board_(board),
      directory_(std::move(directory)),
      limit_(std::min(30.0, seconds / 4.0)),
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

StallExchange::Answers StallExchange::ask() {
  constexpr Seconds grace(1.0);  // for the thread; more: it hangs in a file system
  std::unique_lock lock(mutex_);
  asked_ = true;
  answered_ = false;
  changed_.notify_all();
  changed_.wait_for(lock, Seconds(limit_) + grace, [&] { return answered_; });
  return answered_ ? std::exchange(answers_, {}) : Answers{};
}

void StallExchange::take_back() {
  {
    const std::lock_guard lock(mutex_);
    if (!answered_) return;  // the file system may hang
  }
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

void StallExchange::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    changed_.wait_for(lock, Seconds(period_), [&] { return over_ || asked_; });
    const bool asked = std::exchange(asked_, false);
    lock.unlock();
    Answers answers;
    if (asked)
      answers = collect();
    else
      answer_others();
    lock.lock();
    if (!asked) continue;
    answers_ = std::move(answers);
    answered_ = true;
    changed_.notify_all();
  }
}

void StallExchange::answer_others() {
  std::error_code ignored;
  const bool asks = fs::exists(directory_, ignored);
  if (asks && !told_ && board_.speaks_for_node()) tell();
  told_ = asks && (told_ || board_.speaks_for_node());
}

// What cannot be written is not heard by the others: they say so.
void StallExchange::tell() const {
  const std::string path = fmt::format("{}/node-{}", directory_, board_.first_rank_of_node());
  std::ofstream file(path + ".tmp", std::ios::binary);
  file << board_.node_image();
  file.close();
  if (file) (void)std::rename((path + ".tmp").c_str(), path.c_str());
}

StallExchange::Answers StallExchange::collect() const {
  Answers answers;
  answers.first = ::mkdir(directory_.c_str(), 0777) == 0 || errno != EEXIST;
  tell();
  std::set<std::string> read = {fmt::format("node-{}", board_.first_rank_of_node())};
  const auto end = Clock::now() + Seconds(limit_);
  for (;;) {
    std::error_code error;
    for (fs::directory_iterator entry(directory_, error), none; !error && entry != none;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.ends_with(".tmp") || !read.insert(name).second) continue;
      std::ostringstream image;
      image << std::ifstream(entry->path(), std::ios::binary).rdbuf();
      std::ranges::move(ProgressBoard::read_image(image.str()), std::back_inserter(answers.ranks));
    }
    if (board_.has_all(answers.ranks) || Clock::now() >= end) return answers;
    std::this_thread::sleep_for(Seconds(period_ / 4.0));
  }
}

}  // namespace triax
