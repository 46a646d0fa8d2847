#pragma once
// Activations and gradients between pipeline stages: the send and receive instructions of a plan.
#include <vector>

#include "src/comm/communicator.hpp"
#include "src/schedule/plan.hpp"
#include "src/schedule/stage_layout.hpp"

namespace triax {

class PipelineMessages {
 public:
  enum class Payload { activation, gradient };
  /// `pipeline`: the pipeline axis, its rank being the stage.
  PipelineMessages(Communicator& pipeline, const StageLayout& layout, int microbatches);

  /// The output of op.chunk to the next chunk's stage, or the gradient of its input to the one
  /// before.
  void start_send(const Stream& stream, Payload payload, const Op& op, const Tensor& data);
  /// The input of op.chunk, or the gradient of its output.
  void start_receive(const Stream& stream, Payload payload, const Op& op, const Tensor& data);
  void wait_send(const Stream& stream, Payload payload, const Op& op) {
    slot(payload, true, op).wait(stream);
  }
  void wait_receive(const Stream& stream, Payload payload, const Op& op) {
    slot(payload, false, op).wait(stream);
  }
  /// Moves on what is under way.
  void progress() {
    for (Request& request : requests_)
      if (request.pending()) request.test();
  }

 private:
  Request& slot(Payload payload, bool send, const Op& op);
  int stage_of(int global_chunk) const { return global_chunk % pipeline_.size(); }
  /// The same on both ends: payload, global chunk that sends, micro-batch.
  int tag(Payload payload, int sending_chunk, int microbatch) const;

  Communicator& pipeline_;
  StageLayout layout_;
  int microbatches_;
  std::vector<Request> requests_;  // (payload, direction, chunk, microbatch)
};

}  // namespace triax
