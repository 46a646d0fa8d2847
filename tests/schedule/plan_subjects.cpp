// SPDX-License-Identifier: Apache-2.0
#include "tests/schedule/plan_subjects.hpp"

#include <stdexcept>

#include "src/schedule/passes/passes.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax::test {

Subject training(const std::string& schedule, int stages, int chunks, int microbatches,
                 ZeroStage zero, bool partition, int offload, bool pieces, bool beside_device,
                 MessageMatching matching, bool frozen, bool matrices, bool operands) {
  const PlanShape shape = make_shape({.stages = stages,
                                      .chunks = chunks,
                                      .microbatches = microbatches,
                                      .matching = matching,
                                      .layers = Layers::uneven,
                                      .recompute = Marks::some,
                                      .partition = partition,
                                      .host_inputs = beside_device,
                                      .pools = true,
                                      .operands = operands,
                                      .data_parallel = true,
                                      .zero = zero,
                                      .ahead = 25,
                                      .replicas = zero != ZeroStage::optimizer,
                                      .persistent = true,
                                      .pieces = pieces,
                                      .offload = offload,
                                      .in_store = beside_device,
                                      .tied = true,
                                      .tensor_sum = true,
                                      .matrices = matrices,
                                      .frozen = frozen});
  return {schedule + " on " + std::to_string(stages) + ", ZeRO " +
              std::to_string(static_cast<int>(zero)) + (partition ? ", partitioned" : "") +
              ", offload " + std::to_string(offload) + (pieces ? ", pieces" : "") +
              (beside_device ? ", beside a device" : "") +
              (matching == MessageMatching::by_order ? ", by order" : "") +
              (frozen ? ", frozen" : "") + (matrices ? ", matrices" : "") +
              (operands ? ", operands" : ""),
          shape, training_plans(schedule, shape)};
}

Subject with_frozen(const std::string& schedule, int stages, int chunks, int microbatches,
                    ZeroStage zero, int offload, MessageMatching matching) {
  return training(schedule, stages, chunks, microbatches, zero, zero == ZeroStage::gradients,
                  offload, offload == 1, offload == 2, matching, true);
}

Subject with_matrices(const std::string& schedule, int stages, int chunks, int microbatches,
                      ZeroStage zero, int offload) {
  return training(schedule, stages, chunks, microbatches, zero, false, offload, offload == 1, false,
                  MessageMatching::by_tag, offload == 2, true);
}

Subject with_operands(const std::string& schedule, int stages, int microbatches,
                      MessageMatching matching, bool frozen) {
  return training(schedule, stages, 1, microbatches, ZeroStage::optimizer, false, frozen ? 2 : 0,
                  false, false, matching, frozen, false, true);
}

Subject exchanging(const std::string& schedule, int stages, int chunks, int microbatches,
                   ZeroStage zero) {
  return training(schedule, stages, chunks, microbatches, zero, false, 0, false, false,
                  MessageMatching::by_order);
}

std::vector<Subject> subjects() {
  const PlanShape evaluated =
      make_shape({.stages = 3, .chunks = 2, .microbatches = 4, .layers = Layers::uneven});
  const PlanShape gathered = make_shape({.stages = 3,
                                         .chunks = 2,
                                         .microbatches = 4,
                                         .layers = Layers::uneven,
                                         .zero = ZeroStage::parameters,
                                         .ahead = 25,
                                         .persistent = true});
  const PlanShape loaded = make_shape({.stages = 2,
                                       .chunks = 2,
                                       .microbatches = 2,
                                       .layers = Layers::uneven,
                                       .zero = ZeroStage::parameters,
                                       .ahead = 25,
                                       .offload = 3});
  const PlanShape exchanged = make_shape({.stages = 3,
                                          .chunks = 2,
                                          .microbatches = 4,
                                          .matching = MessageMatching::by_order,
                                          .layers = Layers::uneven});
  const PlanShape alone =
      make_shape({.stages = 1, .chunks = 3, .microbatches = 2, .layers = Layers::uneven});
  return {
      training("gpipe", 3, 2, 4),
      training("gpipe", 1, 3, 2),
      training("1f1b", 4, 1, 5),
      training("interleaved", 2, 3, 4),
      training("gpipe", 1, 3, 2, ZeroStage::gradients),
      training("1f1b", 3, 1, 4, ZeroStage::gradients),
      training("gpipe", 1, 3, 2, ZeroStage::parameters),
      training("1f1b", 3, 1, 4, ZeroStage::parameters),
      training("interleaved", 2, 2, 4, ZeroStage::parameters),
      training("1f1b", 2, 1, 2, ZeroStage::none, false, 1),
      training("gpipe", 1, 3, 2, ZeroStage::optimizer, false, 2),
      training("1f1b", 2, 1, 3, ZeroStage::gradients, false, 3),
      training("1f1b", 2, 1, 3, ZeroStage::parameters, false, 1),
      training("gpipe", 1, 3, 2, ZeroStage::parameters, false, 2),
      training("interleaved", 2, 2, 4, ZeroStage::parameters, false, 4),
      {"evaluation on 2, offload", loaded, evaluation_plans(loaded), PlanUse::evaluation},
      {"evaluation on 3", evaluated, evaluation_plans(evaluated), PlanUse::evaluation},
      {"evaluation on 3, ZeRO-3", gathered, evaluation_plans(gathered), PlanUse::evaluation},
      {"evaluation on 1", alone, evaluation_plans(alone), PlanUse::evaluation},
      training("gpipe", 1, 3, 2, ZeroStage::gradients, true),
      training("1f1b", 3, 1, 4, ZeroStage::optimizer, true),
      training("interleaved", 2, 2, 4, ZeroStage::parameters, true),
      training("gpipe", 1, 3, 2, ZeroStage::optimizer, false, 0, true),
      training("1f1b", 2, 1, 2, ZeroStage::parameters, false, 1, true),
      training("1f1b", 3, 1, 4, ZeroStage::parameters, false, 3, false, true),
      training("gpipe", 1, 3, 2, ZeroStage::parameters, true, 2, false, true),
      exchanging("gpipe", 3, 2, 4),
      exchanging("1f1b", 4, 1, 5, ZeroStage::gradients),
      exchanging("interleaved", 2, 3, 4),
      exchanging("interleaved", 3, 2, 6, ZeroStage::parameters),
      {"evaluation on 3, by order", exchanged, evaluation_plans(exchanged), PlanUse::evaluation},
      with_frozen("gpipe", 3, 2, 4),
      with_frozen("gpipe", 1, 3, 2, ZeroStage::none, 1),
      with_frozen("1f1b", 4, 1, 5, ZeroStage::gradients),
      with_frozen("interleaved", 2, 2, 4, ZeroStage::parameters, 2),
      with_frozen("1f1b", 3, 1, 4, ZeroStage::parameters, 0, MessageMatching::by_order),
      with_matrices("gpipe", 2, 2, 3, ZeroStage::none),
      with_matrices("gpipe", 1, 3, 2, ZeroStage::optimizer, 1),
      with_matrices("1f1b", 3, 1, 4, ZeroStage::gradients, 2),
      with_matrices("1f1b", 2, 1, 3, ZeroStage::gradients, 3),
      with_matrices("interleaved", 2, 2, 4, ZeroStage::parameters, 4),
      with_operands("zero-bubble", 4, 5),
      with_operands("zero-bubble", 3, 2, MessageMatching::by_order),
      with_operands("zero-bubble", 3, 4, MessageMatching::by_tag, true)};
}

std::optional<std::string> error_of(const Subject& subject, const Plans& plans) {
  try {
    verify(plans, subject.shape, subject.use);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return std::nullopt;
}

std::string place(const Subject& subject, int stage, int position) {
  return subject.name + ", stage " + std::to_string(stage) + ", op " + std::to_string(position) +
         " (" + text_of(subject.plans[stage][position]) + ")";
}

}  // namespace triax::test
