#pragma once
// What ranks tell each other at the end of each step.
#include <array>
#include <chrono>

#include "io/metrics/metrics_writer.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/launch/run_requests.hpp"
#include "src/trainer/straggler.hpp"

namespace triax {

class StepShare {
 public:
  /// `grid` outlives the object.
  explicit StepShare(ProcessGrid& grid) : grid_(grid) {}

  /// What a rank knows; shared, it is that of all: the sum of losses, and what any rank says.
  struct Word {
    double loss_sum = 0.0;
    RunRequest request = RunRequest::none;  // the gravest
    bool writing = false;                   // a checkpoint
    MessageShare messages{};                // of all; not asked of a rank
  };

  /// Before the step.
  void begin();
  /// After it. Collective. Fills in the traffic of the step, summed over ranks, and the most memory
  /// that any rank had.
  Word share(const Word& own, StepMetrics& metrics);

 private:
  ProcessGrid& grid_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::array<Traffic, all_axes.size()> before_{};  // sent by axis
};

}  // namespace triax
