// What a Trainer does about the loss of a step that is far above those before it.
#include <spdlog/spdlog.h>

#include "src/train/trainer.hpp"

namespace triax {

std::string Trainer::spike_text(const StepMetrics& metrics) const {
  const LossSpikeConfig& config = losses_.config();
  return fmt::format(
      "the loss of step {}, {:.4f}, is more than {:g} x {:.4f}, the median of the {} "
      "before it",
      metrics.step, metrics.loss, config.factor, losses_.median(), config.window);
}

// Says it once for spikes that follow each other, and marks which files may go.
void Trainer::heed_loss(const StepMetrics& metrics) {
  if (leader() && (verdict_ == LossVerdict::first_spike || verdict_ == LossVerdict::back)) {
    record_->pause();
    if (verdict_ == LossVerdict::back)
      spdlog::info("the loss of step {}, {:.4f}, is within reason again, as before step {}",
                   metrics.step, metrics.loss, losses_.first_spike());
    else
      spdlog::warn("{} (run.loss_spike)", spike_text(metrics));
  }
  checkpoints_.judge(losses_.within(), losses_.beyond());
}

}  // namespace triax
