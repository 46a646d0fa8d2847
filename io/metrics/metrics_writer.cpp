// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/metrics_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "io/files/durable.hpp"
#include "io/metrics/json_number.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

std::string number(double value) {
  return json_number(value);
}

// "a.h5":1.25,"b.h5":0.5
std::string epochs_text(const std::vector<std::pair<std::string, double>>& epochs) {
  std::string text;
  for (const auto& [name, number_of_epochs] : epochs)
    text += fmt::format(
        "{}{}:{}", text.empty() ? "" : ",",
        nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
        number(number_of_epochs));
  return text;
}

// Class of a line for a run that resumes at `first_step`: kept; kept, and the validation of step
// first_step - 1; of a step that the run repeats; not a JSON object.
enum class Line : std::uint8_t { stays, validation, made_again, torn };
Line kind_of(const std::string& line, std::int64_t first_step) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object()) return Line::torn;
  const auto step = object.find("step");
  if (step == object.end() || !step->is_number_integer()) return Line::stays;
  const auto number = step->get<std::int64_t>();
  if (number >= first_step) return Line::made_again;
  return number == first_step - 1 && object.contains("valid_loss") ? Line::validation : Line::stays;
}

// Loss of a line with a validation; NaN: it was not finite.
double validation_loss(const std::string& line) {
  const auto loss = nlohmann::json::parse(line).at("valid_loss");
  return loss.is_number() ? loss.get<double>() : std::nan("");
}

[[noreturn]] void fail(const std::string& path, const char* what = "write") {
  throw Error(fmt::format("cannot {} {}", what, path), std::strerror(errno != 0 ? errno : EIO),
              "Check free space, quota and permissions of run.directory");
}

// Lines of a file for a run that resumes at `first_step`.
struct Sorted {
  std::ostringstream made_again;
  std::int64_t count = 0;                 // lines made again
  bool torn = false;                      // a line was torn
  std::optional<double> validation = {};  // loss in the line of step first_step - 1
};

// Collects the lines of repeated steps; calls `keep` for each line that stays, in order.
Sorted sort_lines(const std::string& path, std::int64_t first_step,
                  const std::function<void(const std::string&)>& keep) {
  errno = 0;
  std::ifstream in(path);
  if (!in) fail(path, "read");
  Sorted sorted;
  for (std::string line; std::getline(in, line);) {
    // A last line without a newline is torn: the newline is written last.
    const Line kind = in.eof() ? Line::torn : kind_of(line, first_step);
    if (kind == Line::stays || kind == Line::validation) keep(line);
    if (kind == Line::made_again) sorted.made_again << line << '\n';
    sorted.count += kind == Line::made_again ? 1 : 0;
    sorted.torn |= kind == Line::torn;
    if (kind == Line::validation) sorted.validation = validation_loss(line);
  }
  if (in.bad()) fail(path, "read");  // a read error, not the end: the rest must not be lost
  return sorted;
}

// Writes the lines of `from` that stay to `to`.
void copy_lines_that_stay(const std::string& from, std::int64_t first_step, const std::string& to) {
  errno = 0;
  std::ofstream stays(to, std::ios::trunc);
  if (!stays) fail(to);
  sort_lines(from, first_step, [&](const std::string& line) {
    stays << line << '\n';
    if (!stays) fail(to);  // at once, before errno changes
  });
  errno = 0;
  stays.close();
  if (!stays) fail(to);
  sync_path(to);
}

// Appends all of `text` and syncs, or restores the file's length.
void append_durably(const std::string& path, const std::string& text) {
  std::error_code none;
  const bool there = std::filesystem::exists(path, none);
  const std::uintmax_t before = there ? std::filesystem::file_size(path, none) : 0;
  errno = 0;
  std::ofstream out(path, std::ios::app);
  out << text;
  out.close();
  if (!out) {
    const int reason = errno;
    std::filesystem::resize_file(path, before, none);
    errno = reason;
    fail(path);
  }
  sync_path(path);
}

// Moves lines of steps from `first_step` on to the superseded file. A run killed between the two
// writes leaves those lines in both files; its next start then appends them a second time.
Sorted set_lines_aside(const std::string& path, std::int64_t first_step) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};  // absent, a pipe or a device
  // The file is read once more if it must change: one that need not change needs no room for a
  // copy.
  Sorted sorted = sort_lines(path, first_step, [](const std::string&) {});
  if (sorted.count == 0 && !sorted.torn) return sorted;
  const std::string temporary = path + ".tmp";
  copy_lines_that_stay(path, first_step, temporary);
  if (sorted.count > 0) append_durably(superseded_metrics(path), sorted.made_again.str());
  rename_durably(temporary, path);
  return sorted;
}

// Opens `path` for appending. A named pipe must have a reader: opening it would wait for one.
int open_for_lines(const std::string& path) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0 && errno == ENXIO)
    throw Error("cannot write " + path, "it is a pipe that no process reads",
                "Start the reader first, or remove the pipe");
  if (file < 0) fail(path);
  ::fcntl(file, F_SETFL, O_APPEND);  // from now on, writes wait
  return file;
}

// Whether the path no longer names the open file: lines would be written where nobody finds them.
bool is_gone(int file, const std::string& path) {
  struct stat open {};
  struct stat named {};
  if (::fstat(file, &open) != 0) return false;
  if (::stat(path.c_str(), &named) != 0) return errno == ENOENT || errno == ENOTDIR;
  return open.st_dev != named.st_dev || open.st_ino != named.st_ino;
}

std::string text_of_gone(const std::string& path) {
  return fmt::format("{} is gone: it or its directory was removed or renamed during the run", path);
}

}  // namespace

std::string superseded_metrics(const std::string& path) {
  return path + ".superseded";
}

bool ends_with_step(const std::string& path, std::int64_t step) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // opening a pipe would wait
  std::ifstream in(path);
  std::string last;
  for (std::string line; std::getline(in, line) && !in.eof();) last.swap(line);
  return kind_of(last, step) == Line::made_again && kind_of(last, step + 1) == Line::stays;
}

MetricsWriter::MetricsWriter(const std::string& path, std::int64_t first_step) : path_(path) {
  const Sorted sorted = set_lines_aside(path, first_step);
  set_aside_ = sorted.count;
  validation_ = sorted.validation;
  file_ = open_for_lines(path);
}

MetricsWriter::~MetricsWriter() {
  flush();
  ::close(file_);
}

void MetricsWriter::line(const std::string& text) {
  waiting_ += text;
  waiting_ += '\n';
  flush();
}

// Writes all waiting lines or none: a torn line would stay in the file for the rest of the run.
void MetricsWriter::flush() {
  if (is_gone(file_, path_)) {
    problem_ = text_of_gone(path_);
    return;
  }
  const off_t end = ::lseek(file_, 0, SEEK_END);  // -1 for a pipe
  std::size_t done = 0;
  while (done < waiting_.size()) {
    const ssize_t count = ::write(file_, waiting_.data() + done, waiting_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  if (done == waiting_.size()) {
    waiting_.clear();
    problem_.clear();
    return;
  }
  problem_ = fmt::format("cannot write {} ({})", path_, std::strerror(errno));
  if (end < 0 || ::ftruncate(file_, end) != 0) waiting_.erase(0, done);
}

void MetricsWriter::sync() {
  flush();
  if (is_gone(file_, path_))
    throw Error(
        text_of_gone(path_),
        fmt::format(
            "{} bytes of lines have not been written, and earlier lines are lost with the file",
            waiting_.size()),
        "Check that the run's checkpoints exist, and rerun the job");
  if (!waiting_.empty())
    throw Error(problem_, fmt::format("{} bytes of lines have not been written", waiting_.size()),
                "Free some space, or raise the quota");
  sync_path(path_);
}

void MetricsWriter::write(const StepMetrics& m) {
  const std::string mfu = m.mfu ? fmt::format(R"("mfu":{},)", number(*m.mfu)) : "";
  std::string scale = m.loss_scale ? fmt::format(R"("loss_scale":{},)", number(*m.loss_scale)) : "";
  if (m.loss_scale || m.skipped) scale += fmt::format(R"("skipped":{},)", m.skipped);
  if (m.label_tokens) scale += fmt::format(R"("label_tokens":{},)", *m.label_tokens);
  if (!m.epochs.empty()) scale += fmt::format(R"("epochs":{{{}}},)", epochs_text(m.epochs));
  if (m.pairs) scale += pair_fields(*m.pairs);
  if (m.loss_spike) scale += R"("loss_spike":true,)";
  line(fmt::format(
      R"({{"step":{},"loss":{},"grad_norm":{},"lr":{},"tokens":{},)"
      R"("tokens_per_second":{},"step_seconds":{},)"
      R"({}{}"peak_memory_bytes":{},"bytes_sent":{{"data":{},"tensor":{},"pipeline":{}}},)"
      R"("messages_sent":{{"data":{},"tensor":{},"pipeline":{}}}}})",
      m.step, number(m.loss), number(m.grad_norm), number(m.lr), m.tokens,
      number(m.tokens_per_second), number(m.step_seconds), mfu, scale, m.peak_memory_bytes,
      m.bytes_sent_data, m.bytes_sent_tensor, m.bytes_sent_pipeline, m.messages_sent_data,
      m.messages_sent_tensor, m.messages_sent_pipeline));
}

void MetricsWriter::write_valid(std::int64_t step, double valid_loss, std::int64_t tokens,
                                const std::optional<PairMetrics>& pairs) {
  line(fmt::format(R"({{"step":{},"valid_loss":{},{}"tokens":{}}})", step, number(valid_loss),
                   pairs ? pair_fields(*pairs) : "", tokens));
}

void MetricsWriter::write_rollback(const RollbackMetrics& r) {
  const std::string checkpoint =
      nlohmann::json(r.checkpoint).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  line(fmt::format(
      R"({{"event":"rollback","step":{},"spike_step":{},"spike_loss":{},"checkpoint":{},)"
      R"("sample":{},"samples_skipped":{},"number":{}}})",
      r.step, r.spike_step, number(r.spike_loss), checkpoint, r.sample, r.samples_skipped,
      r.number));
}

}  // namespace triax
