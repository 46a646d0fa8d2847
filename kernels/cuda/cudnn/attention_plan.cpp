// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/attention_plan.hpp"

#include <algorithm>

namespace triax::cuda {
namespace {

// Upper limit of plans asked for; cuDNN offers fewer for attention.
constexpr std::int64_t most_choices = 8;

std::vector<CudnnDescriptor> offered(const CudnnLibrary& library, const AttentionTarget& target,
                                     const AttentionGraph& graph) {
  CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  if (target.properties != nullptr)
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties);
  if (!heuristic.finish_if_supported()) return {};
  return heuristic.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                         most_choices);
}

// On sm_100 cuDNN sums dq in a fixed order only with these knobs of the engine, which no heuristic
// sets. The numbers are cudnn-frontend's for cuDNN before 9.23.
std::vector<CudnnDescriptor> in_order_on_sm_100(const CudnnLibrary& library,
                                                const AttentionTarget& target,
                                                const AttentionGraph& graph) {
  constexpr std::int64_t number = 5;
  if (library.get_version() >= 92300) return {};
  CudnnDescriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, number);
  if (target.properties != nullptr) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *target.properties);
  if (!engine.finish_if_supported()) return {};
  std::vector<CudnnDescriptor> knobs;
  for (const auto& [knob, value] : {std::pair{CUDNN_KNOB_TYPE_KERNEL_CFG, std::int64_t{31}},
                                    std::pair{CUDNN_KNOB_TYPE_STAGES, std::int64_t{2}}})
    knobs.emplace_back(library, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, knob)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value)
        .finish();
  std::vector<CudnnDescriptor> made;
  CudnnDescriptor& choice = made.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  choice.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine).set_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
  if (!choice.finish_if_supported()) made.clear();
  return made;
}

// Whether cuDNN's notes about the engine do not call it nondeterministic.
bool sums_in_order(const CudnnDescriptor& choice) {
  const auto engine = choice.parts(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  const auto notes = engine.at(0).numbers<cudnnBackendNumericalNote_t>(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return std::ranges::find(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == notes.end();
}

constexpr std::int64_t workspace_besides = 4096;  // bytes

std::int64_t workspace_of_head(std::int64_t length, std::int64_t head_size) {
  const std::int64_t padded = (length + 127) / 128 * 128;
  return 2 * padded * padded + 8 * length * head_size;
}

// Largest divisor of `count` that is at most `most` (>= 1).
std::int64_t largest_divisor(std::int64_t count, std::int64_t most) {
  std::int64_t divisor = std::min(count, most);
  while (count % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

CudnnDescriptor described_device(const CudnnLibrary& library, const std::string& json) {
  CudnnDescriptor made(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  made.set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
               std::span<const char>(json.data(), json.size()))
      .finish();
  return made;
}

std::int64_t attention_plan_workspace(std::int64_t heads, std::int64_t length,
                                      std::int64_t head_size) {
  constexpr std::int64_t most = largest_attention_workspace;
  if (length > most / 256) return most;  // one head exceeds the limit, and its bytes may overflow
  return std::min(most, heads * workspace_of_head(length, head_size) + workspace_besides);
}

AttentionSlice attention_slice(const AttentionProblem& problem) {
  constexpr std::int64_t most = largest_attention_workspace - workspace_besides;
  if (problem.length > most / 256) return {};
  const std::int64_t heads = most / workspace_of_head(problem.length, problem.head_size);
  if (heads >= problem.heads)
    return {largest_divisor(problem.batch, heads / problem.heads), problem.key_heads};
  const std::int64_t key_heads = heads * problem.key_heads / problem.heads;
  if (key_heads == 0) return {};
  return {1, largest_divisor(problem.key_heads, key_heads)};
}

std::optional<AttentionPlan> make_attention_plan(const CudnnLibrary& library,
                                                 const AttentionTarget& target,
                                                 const AttentionProblem& problem,
                                                 std::int64_t workspace) {
  if (target.architecture != 90 && target.architecture != 100) return {};
  AttentionGraph graph = make_attention_graph(library, target.handle, problem);
  const bool by_knobs = problem.backward && target.architecture == 100;
  auto choices =
      by_knobs ? in_order_on_sm_100(library, target, graph) : offered(library, target, graph);
  for (CudnnDescriptor& choice : choices) {
    if (!by_knobs && !sums_in_order(choice)) continue;
    CudnnDescriptor plan(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, choice);
    if (target.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
    if (target.properties != nullptr)
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
    if (!plan.finish_if_supported()) continue;
    const auto bytes = plan.number<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (bytes > workspace) continue;
    return AttentionPlan{std::move(graph), std::move(choice), std::move(plan), bytes};
  }
  return {};
}

}  // namespace triax::cuda
