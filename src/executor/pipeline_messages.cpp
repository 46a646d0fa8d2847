// SPDX-License-Identifier: Apache-2.0
#include "src/executor/pipeline_messages.hpp"

#include "kernels/base/check.hpp"

namespace triax {

void check_tags(const PlacedConfig& config, int largest) {
  const ParallelConfig& parallel = config.parallel;
  if (parallel.pipeline <= 1 || config.place.by_nccl()) return;
  constexpr std::int64_t payloads = 2;
  const std::int64_t needed = payloads * parallel.pipeline * parallel.chunks *
                              static_cast<std::int64_t>(config.batch.accumulation);
  if (needed <= std::int64_t{largest} + 1) return;
  throw UsageError(
      fmt::format("a step needs {} different tags for messages between stages", needed),
      fmt::format("{} stages of {} chunk(s), {} micro-batches, forward and backward; this MPI "
                  "library has {} tags",
                  parallel.pipeline, parallel.chunks, config.batch.accumulation,
                  std::int64_t{largest} + 1),
      "Use larger micro-batches (train_micro_batch_size_per_gpu), fewer chunks, or another MPI "
      "library");
}

PipelineMessages::PipelineMessages(Communicator& pipeline, const StageLayout& layout,
                                   int microbatches)
    : pipeline_(pipeline),
      layout_(layout),
      microbatches_(microbatches),
      requests_(static_cast<std::size_t>(4 * layout.chunks() * microbatches)) {
  under_way_.reserve(requests_.size());
}

std::size_t PipelineMessages::number(Payload payload, bool send, const Op& op) const {
  const int kind = (payload == Payload::gradient ? 2 : 0) + (send ? 1 : 0);
  return static_cast<std::size_t>((kind * layout_.chunks() + op.chunk) * microbatches_ +
                                  op.microbatch);
}

int PipelineMessages::tag(Payload payload, int sending_chunk, int microbatch) const {
  return (2 * sending_chunk + (payload == Payload::gradient ? 1 : 0)) * microbatches_ + microbatch;
}

void PipelineMessages::start_send(const Stream& stream, Payload payload, const Op& op,
                                  const Tensor& data) {
  const int from = layout_.global_chunk(op.chunk);
  const int to = payload == Payload::activation ? from + 1 : from - 1;
  begun(payload, true, op) =
      pipeline_.send(stream, data, stage_of(to), tag(payload, from, op.microbatch));
}

void PipelineMessages::start_receive(const Stream& stream, Payload payload, const Op& op,
                                     const Tensor& data) {
  const int to = layout_.global_chunk(op.chunk);
  const int from = payload == Payload::activation ? to - 1 : to + 1;
  begun(payload, false, op) =
      pipeline_.receive(stream, data, stage_of(from), tag(payload, from, op.microbatch));
}

}  // namespace triax
