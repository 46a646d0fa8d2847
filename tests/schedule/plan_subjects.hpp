// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole plans for tests that make a mistake in them.
#include <optional>
#include <string>
#include <vector>

#include "src/schedule/verify/verify.hpp"

namespace triax::test {

struct Subject {
  std::string name;
  PlanShape shape;
  Plans plans;
  PlanUse use = PlanUse::training;

  int instructions() const {
    int count = 0;
    for (const Plan& plan : plans) count += static_cast<int>(plan.size());
    return count;
  }
};

Subject training(const std::string& schedule, int stages, int chunks, int microbatches,
                 ZeroStage zero = ZeroStage::optimizer, bool partition = false, int offload = 0,
                 bool pieces = false, bool beside_device = false,
                 MessageMatching matching = MessageMatching::by_tag, bool frozen = false,
                 bool matrices = false, bool operands = false);
/// training() with frozen blocks, and layers without backward pass.
Subject with_frozen(const std::string& schedule, int stages, int chunks, int microbatches,
                    ZeroStage zero = ZeroStage::optimizer, int offload = 0,
                    MessageMatching matching = MessageMatching::by_tag);
/// training() with orthogonal blocks, some of them frozen.
Subject with_matrices(const std::string& schedule, int stages, int chunks, int microbatches,
                      ZeroStage zero = ZeroStage::optimizer, int offload = 0);
/// training() with weight gradients apart from the backward passes.
Subject with_operands(const std::string& schedule, int stages, int microbatches,
                      MessageMatching matching = MessageMatching::by_tag, bool frozen = false);
/// training() for messages that match by order.
Subject exchanging(const std::string& schedule, int stages, int chunks, int microbatches,
                   ZeroStage zero = ZeroStage::optimizer);

/// Plans in which every instruction and every feature occurs.
std::vector<Subject> subjects();

/// Error of verify(); nullopt if there is none.
std::optional<std::string> error_of(const Subject& subject, const Plans& plans);

/// Stage, position and text of an instruction, for messages.
std::string place(const Subject& subject, int stage, int position);

/// Calls use(plans, stage, position) for each instruction, with a copy of the plans that it may
/// change.
template <class Use>
void for_each_instruction(const Subject& subject, const Use& use) {
  Plans plans = subject.plans;
  for (int s = 0; s < subject.shape.stages; ++s)
    for (int i = 0; i < std::ssize(subject.plans[s]); ++i) {
      use(plans, s, i);
      plans[s] = subject.plans[s];
    }
}

}  // namespace triax::test
