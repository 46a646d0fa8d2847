// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/run_events.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

namespace triax {
namespace {

// Whether the file's last byte is no end of line: its writer was killed.
bool ends_torn(int file) {
  char last = '\n';
  const off_t end = ::lseek(file, 0, SEEK_END);
  return end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

}  // namespace

void append_event(const std::string& path, const std::string& kind,
                  const nlohmann::ordered_json& fields) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  nlohmann::ordered_json line = {{"event", kind},
                                 {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now)}};
  if (fields.is_object()) line.update(fields);
  std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const int file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (ends_torn(file)) text = "\n" + text;
  const off_t end = ::lseek(file, 0, SEEK_END);
  const ssize_t written = ::write(file, text.data(), text.size());
  if (written >= 0 && written < static_cast<ssize_t>(text.size()) && end >= 0)
    (void)!::ftruncate(file, end);  // a full disk
  ::close(file);
}

}  // namespace triax
