// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/open_metrics.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// A label's value: backslash, quote and newline are escaped.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

std::string open_metrics_text(const RunState& state, const std::string& run, double time) {
  std::string text;
  const std::string label = fmt::format("{{run=\"{}\"}}", escaped(run));
  const auto gauge = [&](const char* name, const char* help, double value) {
    text += fmt::format("# HELP triax_{0} {1}\n# TYPE triax_{0} gauge\ntriax_{0}{2} {3}\n", name,
                        help, label, number(value));
  };
  const StepMetrics& m = state.step;
  gauge("running", "1 while the run makes steps, 0 after it.", state.running ? 1.0 : 0.0);
  gauge("steps_done", "Steps made so far.", static_cast<double>(m.number()));
  gauge("steps", "Steps of the run in all.", static_cast<double>(state.steps));
  gauge("loss", "Mean loss of the last step.", m.loss);
  if (state.valid_loss) gauge("valid_loss", "Mean loss of the last validation.", *state.valid_loss);
  gauge("grad_norm", "Gradient norm of the last step, before clipping.", m.grad_norm);
  gauge("learning_rate", "Learning rate of the last step.", m.lr);
  gauge("tokens", "Tokens trained on so far.", static_cast<double>(m.tokens));
  gauge("tokens_per_second", "Tokens per second of the last step.", m.tokens_per_second);
  gauge("step_seconds", "Duration of the last step.", m.step_seconds);
  gauge("left_seconds", "Estimate of the time to the last step.", state.seconds_left);
  gauge("peak_memory_bytes", "Largest memory of a rank.", static_cast<double>(m.peak_memory_bytes));
  if (m.mfu) gauge("mfu", "Model FLOPs utilisation of the last step.", *m.mfu);
  gauge("updated_seconds", "Time of this file, in seconds since 1970.", time);
  return text + "# EOF\n";
}

std::string OpenMetricsFile::update(const RunState& state) {
  const auto now = std::chrono::steady_clock::now();
  if (state.running && now < next_) return {};
  next_ = now + std::chrono::seconds(1);
  const double time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string temporary = fmt::format("{}.{}.tmp", path_, ::getpid());
  errno = 0;
  std::ofstream out(temporary, std::ios::trunc);
  out << open_metrics_text(state, run_, time);
  out.close();
  if (!out) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    return fmt::format("cannot write {} ({})", temporary,
                       std::strerror(reason != 0 ? reason : EIO));
  }
  try {
    rename_path(temporary, path_);
  } catch (const Error& error) {
    ::unlink(temporary.c_str());
    return error.what();
  }
  return {};
}

}  // namespace triax
