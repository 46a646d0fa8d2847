// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/job_plan.hpp"

#include <algorithm>
#include <utility>

#include "kernels/matmul/matmul.hpp"
#include "kernels/parallel/parallel.hpp"
#include "src/forecast/process_memory.hpp"
#include "src/state/optimizer/groups.hpp"

namespace triax {

namespace {

std::int64_t longest_side(const Config& config) {
  const ModelConfig& model = config.model;
  return std::max({config.batch.micro * config.data.sample_length(), std::int64_t{model.hidden},
                   2 * std::int64_t{model.intermediate}, std::int64_t{model.vocabulary},
                   3 * std::int64_t{model.heads} * model.head_size});
}

// Bytes that libraries allocate when the first step runs: pages of code and data that were on disk
// only and the kernels that oneDNN generates (5 to 16 MiB, measured on 1 to 8 ranks); oneDNN's
// packing buffers of all threads, which the heap keeps per size (0.7 MiB per thread for sides up to
// 1024, 3.8 to 6 MiB for longer ones, measured with 8 to 64 threads); and the tiles that products
// of 16-bit weights keep.
std::int64_t library_bytes(const PlacedConfig& config) {
  constexpr std::int64_t mib = 1 << 20, code = 12 * mib, most_of_a_thread = 6 * mib;
  if (config.place.space == MemorySpace::device) return code;
  const std::int64_t longest = longest_side(config);
  const std::int64_t of_a_thread = std::min(mib + longest * 1024, most_of_a_thread);
  return code + host_concurrency() * of_a_thread +
         matmul_block_bytes(config.precision.type, longest);
}

}  // namespace

std::int64_t program_bytes(const PlacedConfig& config) {
  const std::int64_t now = resident_bytes();  // measured before the libraries are queried
  return now + library_bytes(config);
}

JobPlan plan_job(const PlacedConfig& config) {
  check_groups_match(config.optimizer, config.model);
  const std::int64_t program = program_bytes(config);
  StepPlans steps = step_plans(config);
  MemoryPlan memory(config, steps, program);
  MessagePlan messages = plan_messages(config, steps);
  return {config, program, std::move(steps), std::move(memory), messages};
}

JobPlan plan_job(PlacedConfig config, const std::function<bool(const MemoryPlan&)>& fits) {
  JobPlan plan = plan_job(config);
  if (config.checkpoint.async != AsyncWrites::where_it_fits || fits(plan.memory)) return plan;
  config.place.copy_fits = false;
  return plan_job(config);
}

}  // namespace triax
