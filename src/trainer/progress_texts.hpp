#pragma once
// What the numbers on the ProgressBoard mean, for the report of a wait without end.
#include "src/comm/grid/process_grid.hpp"
#include "src/executor/executor.hpp"
#include "src/plan/step_plan.hpp"

namespace triax {

/// The text of a rank's place in its plan, for every rank of the grid: "step 3, plan position 17 (F
/// c0 l2 m1)", while it lives.
class ProgressTexts {
 public:
  /// `plans` outlive it.
  ProgressTexts(ProcessGrid& grid, const StepPlans& plans);
  ~ProgressTexts();
  ProgressTexts(const ProgressTexts&) = delete;
  ProgressTexts& operator=(const ProgressTexts&) = delete;

 private:
  ProcessGrid& grid_;
};

}  // namespace triax
