// SPDX-License-Identifier: Apache-2.0
#pragma once
// Golden cases: short training runs whose numbers triax must reproduce (tests/golden/README.md).
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace triax::test {

/// One step of the float64 PyTorch run.
struct GoldenStep {
  double loss = 0.0, grad_norm = 0.0, lr = 0.0;
};

/// Sum and L2 norm of a tensor.
struct TensorSummary {
  double sum = 0.0, l2 = 0.0;
};

struct GoldenCase {
  std::string name, directory;
  std::string tokens;  // file of them, which may have labels of its own
  // Training recipe.
  double lr = 0.0, min_lr = 0.0, beta1 = 0.0, beta2 = 0.0, epsilon = 0.0, weight_decay = 0.0,
         clip = 0.0, z_coefficient = 0.0;
  std::int64_t warmup = 0, steps = 0, global_batch = 0;
  int sequence_length = 0;
  bool cosine = false;
  std::vector<std::string> freeze, train_only;
  bool mask_documents = false, mask_end_token_loss = false;
  std::string adapter;  // directory of the adapter that is trained; empty: none
  // Expected results.
  std::vector<GoldenStep> expected;
};

/// Names of all cases.
std::vector<std::string> golden_names();
GoldenCase read_golden(const std::string& name);
/// Reads "final.json" or "gradients.json" of a case, by tensor name.
std::map<std::string, TensorSummary> read_summaries(const GoldenCase& golden,
                                                    const std::string& file);

/// Relative tolerances of every step.
inline constexpr double golden_loss_tolerance = 2e-6;
inline constexpr double golden_norm_tolerance = 1e-5;

}  // namespace triax::test
