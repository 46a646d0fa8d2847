// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/event_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/process/host_name.hpp"

namespace triax {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads the files of a directory in the order of their names, which begin with a time.
int open_new(const std::string& directory, std::string& path) {
  const auto seconds = static_cast<std::int64_t>(seconds_now());
  for (int number = 0;; ++number) {
    path = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", directory, seconds, host_name(),
                       ::getpid(), number);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

EventFile::EventFile(const std::string& directory, std::int64_t first_step) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  file_ = open_new(directory, path_);
  if (file_ < 0)
    throw Error(fmt::format("cannot write {}", path_), std::strerror(errno),
                "Make run.directory writable, or leave out run.tensorboard");
  append(version_record(seconds_now()));
  append(session_record({seconds_now(), first_step}));
}

EventFile::~EventFile() {
  append({});
  ::close(file_);
}

void EventFile::scalars(std::int64_t step, std::vector<EventScalar> scalars) {
  std::erase_if(scalars, [](const EventScalar& scalar) { return !std::isfinite(scalar.value); });
  if (!scalars.empty()) append(scalar_record({seconds_now(), step}, scalars));
}

void EventFile::text(std::int64_t step, std::string_view tag, std::string_view text) {
  append(text_record({seconds_now(), step}, tag, text));
}

// Writes all waiting records or none: TensorBoard stops reading at a torn one.
void EventFile::append(const std::string& record) {
  waiting_ += record;
  const off_t end = ::lseek(file_, 0, SEEK_END);
  std::int64_t at = end;
  const int failed = end < 0 ? errno : write_all(file_, std::as_bytes(std::span(waiting_)), at);
  if (failed == 0) {
    waiting_.clear();
    problem_.clear();
    return;
  }
  problem_ = fmt::format("cannot write {} ({})", path_, std::strerror(failed));
  if (end < 0 || ::ftruncate(file_, end) != 0)
    waiting_.erase(0, static_cast<std::size_t>(std::max<std::int64_t>(0, at - end)));
}

}  // namespace triax
