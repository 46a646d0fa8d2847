// SPDX-License-Identifier: Apache-2.0
#pragma once
// trace.json: slices, rows and arrows in Chrome's trace format, which Perfetto opens.
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace triax {

/// Row of a trace: a process (a rank) and one of its threads.
struct TraceRow {
  int process = 0, thread = 0;
};

/// A named interval on a row. Times are in nanoseconds from the trace's zero; slices of a row nest
/// or are apart.
struct TraceSlice {
  std::string_view name;
  std::string_view category;
  std::int64_t begin = 0, end = 0;
  std::string_view arguments = {};  // a JSON object; empty: none
};

/// Writes under a temporary name until close(). Errors name the file and the system's reason.
class TraceWriter {
 public:
  explicit TraceWriter(std::string path);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void name_process(int process, std::string_view name);
  /// Rows of a process are shown in the order of their thread numbers.
  void name_row(TraceRow row, std::string_view name);
  void slice(TraceRow row, const TraceSlice& slice);
  /// One end of an arrow, at a time within a slice of the row. Both ends have the same number.
  enum class ArrowEnd : std::uint8_t { from, to };
  void arrow(TraceRow row, ArrowEnd end, std::int64_t number, std::int64_t time);
  /// `facts`: a JSON object about the whole trace.
  void close(std::string_view facts);

 private:
  void event(std::string_view text);
  [[noreturn]] void fail() const;

  std::string path_, temporary_;
  std::ofstream out_;
  bool first_ = true, closed_ = false;
};

}  // namespace triax
