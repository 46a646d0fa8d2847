// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/progress_texts.hpp"

namespace triax {
namespace {

std::string text_at(const Plan& plan, int position) {
  if (position < 0 || position >= std::ssize(plan)) return "";
  return fmt::format("plan position {} ({})", position,
                     text_of(plan[static_cast<std::size_t>(position)]));
}

}  // namespace

ProgressTexts::ProgressTexts(ProcessGrid& grid, const StepPlans& plans,
                             std::string (*start_text)(int))
    : grid_(grid) {
  grid.board().explain_with([&plans, start_text, shape = grid.shape()](const RankProgress& rank) {
    const auto stage = static_cast<std::size_t>(shape.coordinate(rank.rank, Axis::pipeline));
    const std::int64_t number = rank.step + 1;  // counted from 1, as in the progress lines
    switch (static_cast<Activity>(rank.activity)) {
      case Activity::start_up:
        return start_text(rank.position);
      case Activity::between_steps:
        return fmt::format("step {}, between plans", number);
      case Activity::training:
        return fmt::format("step {}, {}", number, text_at(plans.training[stage], rank.position));
      case Activity::evaluation:
        return fmt::format("step {}, validation, {}", number,
                           text_at(plans.evaluation[stage], rank.position));
    }
    return std::string();
  });
}

ProgressTexts::~ProgressTexts() {
  grid_.board().explain_with({});
}

}  // namespace triax
