// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a run ends: after epochs of its data, or when its validation no longer improves; and the
// checkpoint that is the best then.
#include <string>

namespace triax {

struct EndingConfig {
  double epochs = 0.0;  // run.epochs, of which the steps are not counted yet; 0: run.steps is set
  int patience = 0;     // validations without an improvement that end the run; 0: none does
  double threshold = 0.0;  // an improvement is a fall of the loss by more than this
  bool keep_best = false;  // the checkpoint with the lowest validation loss stays
  bool operator==(const EndingConfig&) const = default;
};

/// The keys of a resolved job: its JSON text with every default filled in, as in LoadedJob and
/// job.json. Jobs of versions without these keys make run.steps steps.
EndingConfig ending_config(const std::string& resolved_job);

}  // namespace triax
