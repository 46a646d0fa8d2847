// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/trace_writer.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Microseconds, the format's unit, exact to the nanosecond.
std::string microseconds(std::int64_t nanoseconds) {
  const std::int64_t size = std::abs(nanoseconds);
  return fmt::format("{}{}.{:03}", nanoseconds < 0 ? "-" : "", size / 1000, size % 1000);
}

std::string quoted(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

TraceWriter::TraceWriter(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".tmp"), out_(temporary_, std::ios::trunc) {
  if (!out_) fail();
  out_ << R"({"displayTimeUnit":"ms","traceEvents":[)";
}

TraceWriter::~TraceWriter() {
  if (closed_) return;
  out_.close();
  std::error_code gone;
  std::filesystem::remove(temporary_, gone);
}

void TraceWriter::fail() const {
  throw Error(fmt::format("cannot write {}", temporary_), std::strerror(errno != 0 ? errno : EIO),
              "Check free space, quota and permissions of run.directory");
}

void TraceWriter::event(std::string_view text) {
  errno = 0;
  out_ << (first_ ? "\n" : ",\n") << text;
  first_ = false;
  if (!out_) fail();
}

void TraceWriter::name_process(int process, std::string_view name) {
  event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
                    quoted(name)));
  event(fmt::format(
      R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
      process));
}

void TraceWriter::name_row(TraceRow row, std::string_view name) {
  event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                    row.process, row.thread, quoted(name)));
  event(fmt::format(
      R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
      row.process, row.thread));
}

void TraceWriter::slice(TraceRow row, const TraceSlice& slice) {
  const std::string arguments =
      slice.arguments.empty() ? std::string() : fmt::format(R"(,"args":{})", slice.arguments);
  event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}"{}}})",
                    row.process, row.thread, microseconds(slice.begin),
                    microseconds(slice.end - slice.begin), quoted(slice.name), slice.category,
                    arguments));
}

void TraceWriter::arrow(TraceRow row, ArrowEnd end, std::int64_t number, std::int64_t time) {
  // "bp":"e": the arrow ends at the slice around its time, not at the next one.
  event(fmt::format(
      R"({{"ph":"{}","id":{},"pid":{},"tid":{},"ts":{},"name":"message","cat":"message"{}}})",
      end == ArrowEnd::from ? "s" : "f", number, row.process, row.thread, microseconds(time),
      end == ArrowEnd::from ? "" : R"(,"bp":"e")"));
}

void TraceWriter::close(std::string_view facts) {
  errno = 0;
  out_ << "\n],\n\"otherData\":" << facts << "}\n";
  out_.close();
  if (!out_) fail();
  rename_durably(temporary_, path_);
  closed_ = true;
}

}  // namespace triax
