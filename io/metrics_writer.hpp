#pragma once
// metrics.jsonl: one JSON object a line, floats written so that they read back bit for bit.
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace triax {

struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0, grad_norm = 0, lr = 0;
  std::int64_t tokens = 0;  // so far
  double tokens_per_second = 0, step_seconds = 0;
  std::optional<double> mfu;
  std::optional<double> loss_scale;    // of this step (fp16)
  bool skipped = false;                // not finite: the step changed nothing
  std::int64_t peak_memory_bytes = 0;  // largest over ranks
  std::int64_t bytes_sent_data = 0, bytes_sent_tensor = 0,
               bytes_sent_pipeline = 0;  // this step, all ranks
  std::int64_t messages_sent_data = 0, messages_sent_tensor = 0, messages_sent_pipeline = 0;
};

class MetricsWriter {
 public:
  /// Opens (creates) `path` to append. Lines of steps >= `first_step`, and a torn last line, are
  /// removed first, so that a resumed run repeats no step; the rewrite is atomic.
  MetricsWriter(const std::string& path, std::int64_t first_step);
  void write(const StepMetrics& metrics);
  void write_valid(std::int64_t step, double valid_loss, std::int64_t tokens);

 private:
  void line(const std::string& text);
  std::string path_;
  std::ofstream file_;
};

}  // namespace triax
