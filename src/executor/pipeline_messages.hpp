// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activations and gradients between pipeline stages: the send and receive instructions of a plan.
#include <vector>

#include "src/comm/interface/communicator.hpp"
#include "src/plan/placement.hpp"
#include "src/schedule/plan.hpp"
#include "src/schedule/stage_layout.hpp"

namespace triax {

/// UsageError where MPI carries the messages between stages and a step has more of them than this
/// MPI has tags. `largest`: the largest tag (largest_message_tag).
void check_tags(const PlacedConfig& config, int largest);

class PipelineMessages {
 public:
  enum class Payload { activation, gradient };
  /// `pipeline`: the pipeline axis; its rank is the stage.
  PipelineMessages(Communicator& pipeline, const StageLayout& layout, int microbatches);

  /// Sends the output of op.chunk to the stage of the next chunk, or the gradient of its input to
  /// the stage of the chunk before.
  void start_send(const Stream& stream, Payload payload, const Op& op, const Tensor& data);
  /// Receives the input of op.chunk, or the gradient of its output.
  void start_receive(const Stream& stream, Payload payload, const Op& op, const Tensor& data);
  void wait_send(const Stream& stream, Payload payload, const Op& op) {
    slot(payload, true, op).wait(stream);
  }
  void wait_receive(const Stream& stream, Payload payload, const Op& op) {
    slot(payload, false, op).wait(stream);
  }
  /// Messages started between the two calls begin together (Communicator::begin_exchange).
  void begin_exchange() { pipeline_.begin_exchange(); }
  void end_exchange(const Stream& stream) { pipeline_.end_exchange(stream); }
  /// Makes progress on messages under way.
  void progress() {
    std::erase_if(under_way_, [this](std::size_t slot) {
      Request& request = requests_[slot];
      return !request.pending() || request.test();
    });
  }
  /// Number of messages that progress() still tests.
  std::size_t under_way() const { return under_way_.size(); }

 private:
  std::size_t number(Payload payload, bool send, const Op& op) const;
  Request& slot(Payload payload, bool send, const Op& op) {
    return requests_[number(payload, send, op)];
  }
  /// The slot of a message that begins now.
  Request& begun(Payload payload, bool send, const Op& op) {
    under_way_.push_back(number(payload, send, op));
    return requests_[under_way_.back()];
  }
  int stage_of(int global_chunk) const { return global_chunk % pipeline_.size(); }
  /// Tag of a message, the same on both ends: payload, sending global chunk, micro-batch.
  int tag(Payload payload, int sending_chunk, int microbatch) const;

  Communicator& pipeline_;
  StageLayout layout_;
  int microbatches_;
  std::vector<Request> requests_;       // (payload, direction, chunk, microbatch)
  std::vector<std::size_t> under_way_;  // indices into requests_
};

}  // namespace triax
