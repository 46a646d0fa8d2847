// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of the numbers on the ProgressBoard, for the stall report.
#include "src/comm/grid/process_grid.hpp"
#include "src/executor/executor.hpp"
#include "src/plan/step_plan.hpp"

namespace triax {

/// While it lives, stall reports show the plan position of every rank: "step 3, plan position 17 (F
/// c0 l2 m1)".
class ProgressTexts {
 public:
  /// `plans` outlive the object. `start_text`: text of a position in the start-up.
  ProgressTexts(ProcessGrid& grid, const StepPlans& plans, std::string (*start_text)(int));
  ~ProgressTexts();
  ProgressTexts(const ProgressTexts&) = delete;
  ProgressTexts& operator=(const ProgressTexts&) = delete;

 private:
  ProcessGrid& grid_;
};

}  // namespace triax
