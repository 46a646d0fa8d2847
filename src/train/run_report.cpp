#include "src/train/run_report.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <vector>

#include "src/train/dry_run.hpp"
#include "src/train/offload_place.hpp"
#include "src/train/process_memory.hpp"
#include "src/train/version.hpp"

namespace triax {

void announce(const RunFacts& run) {
  const Config& config = run.job.config;
  std::int64_t parameters = 0;
  for (const GlobalTensor& tensor : global_tensors(config.model))
    parameters += tensor.shape.elements();
  spdlog::info("triax {}: {} ranks on {} node(s), tensor {} x pipeline {} x data {}", version,
               run.grid.size(), run.grid.nodes(), config.parallel.tensor, config.parallel.pipeline,
               config.parallel.data);
  spdlog::info(
      "{:.2f}M parameters, batch {} = micro {} x accumulation {} x data {}, {} tokens a step",
      1e-6 * parameters, config.batch.global, config.batch.micro, config.batch.accumulation,
      config.parallel.data, config.batch.global * config.data.sequence_length);
  spdlog::info("{} tokens of training data, {} samples an epoch", run.data.tokens(),
               run.data.samples());
  spdlog::info("schedule {}: {} instructions on stage 0, verified", config.parallel.schedule,
               run.plan.steps.training[0].size());
  spdlog::info("rank 0 will hold {}", memory_text(run.plan.memory.of(0).in_memory()));
  spdlog::info("a step sends, all ranks together: {}", messages_text(run.plan.messages));
  announce_offload(config.zero, run.optimizer, run.store);
  if (config.dump_state) spdlog::info("{}", run.job.resolved);
  if (!run.job.accepted.empty())
    spdlog::info("accepted without effect here: {}", fmt::join(run.job.accepted, ", "));
  if (config.recompute.partition_inputs && config.recompute.what != Recompute::layer)
    spdlog::warn(
        "activation_checkpointing.partition_activations has nothing to cut: no layer is "
        "recomputed from its input. activation_checkpointing.number_checkpoints says how many are");
  if (!run.start.unused_weights.empty())
    spdlog::warn("{}: {} tensors are not part of this model: {}", config.model.weights,
                 run.start.unused_weights.size(), fmt::join(run.start.unused_weights, ", "));
  if (!run.start.resumed_from.empty())
    spdlog::info("resumed from {} at step {} of {}", run.start.resumed_from, run.start.step,
                 config.run.steps);
  if (run.start.fresh_optimizer)
    spdlog::info("it has no optimizer state: the moments start from zero");
  for (const std::string& change : run.start.changes) spdlog::warn("{}", change);
}

void report_memory(ProcessGrid& grid, const JobPlan& plan, const Allocations& allocated) {
  KindBytes used = by_kind(allocated, plan.program);
  used.communication = peak_resident_bytes() - used.total();
  constexpr std::size_t count = memory_kinds.size();
  std::vector<std::int64_t> all(count * static_cast<std::size_t>(grid.size()));
  const Tensor ranks(all.data(), DType::i64, {grid.size(), std::int64_t{count}});
  const Tensor own = ranks.slice(0, grid.rank(), 1);
  for (std::size_t k = 0; k < count; ++k) own.as<std::int64_t>()[k] = used.*memory_kinds[k].bytes;
  const Stream host;
  grid.world().all_gather(host, ranks, own).wait(host);
  if (grid.rank() != 0) return;
  int fullest = 0;
  KindBytes most;
  for (int rank = 0; rank < grid.size(); ++rank) {
    KindBytes there;
    for (std::size_t k = 0; k < count; ++k)
      there.*memory_kinds[k].bytes = all[static_cast<std::size_t>(rank) * count + k];
    if (there.total() <= most.total()) continue;
    fullest = rank;
    most = there;
  }
  spdlog::info("rank {} was to hold {}", fullest, memory_text(plan.memory.of(fullest).in_memory()));
  spdlog::info("rank {} has used    {}", fullest, memory_text(most));
}

}  // namespace triax
