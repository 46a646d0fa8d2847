// SPDX-License-Identifier: Apache-2.0
#include "src/text/stop_text.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace triax {
namespace {

// Length of the longest end of `text` that begins `stop`.
std::size_t begun(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (text.ends_with(stop.substr(0, length))) return length;
  return 0;
}

}  // namespace

std::string StopText::next(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  std::size_t begin = 0, end = std::string::npos, kept = 0;
  for (const std::string& stop : stops_) {
    kept = std::max(kept, begun(held_, stop));
    const std::size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    // The one that is complete first, however the text is cut into pieces.
    if (std::pair(at + stop.size(), at) < std::pair(end, begin))
      std::tie(begin, end) = std::pair(at, at + stop.size());
  }
  stopped_ = end != std::string::npos;
  if (stopped_) found_ = held_.substr(begin, end - begin);
  std::string text = held_.substr(0, stopped_ ? begin : held_.size() - kept);
  held_.erase(0, stopped_ ? held_.size() : text.size());
  return text;
}

std::string StopText::rest() {
  return std::exchange(held_, {});
}

}  // namespace triax
