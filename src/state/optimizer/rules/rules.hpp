// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of optimizers. A row has the keys, the state tensors and the update of an
// optimizer; all else that triax does with optimizers is derived from the rows.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/device/device.hpp"
#include "kernels/optimizer/orthogonal/orthogonalize.hpp"
#include "kernels/optimizer/quantized/dynamic_map.hpp"
#include "kernels/random/element_numbers.hpp"
#include "src/config/config.hpp"

namespace triax {

class ErrorList;
class Settings;
struct RuleParameter;  // parameter.hpp

/// Value of a state before the first update.
enum class StateStart : std::uint8_t { zero, weights };

/// Parameters that have a state, where OptimizerRule::matrices steps those of matrices.
enum class StateScope : std::uint8_t { all, matrices, others };

/// A tensor that an optimizer keeps for each parameter, of the parameter's shape.
struct StateKind {
  const char* name;         // PyTorch's, which names it in checkpoints and in offload files
  DType type = DType::f32;  // of its memory
  // State that scales it in the update; null: none. A checkpoint of another optimizer that lacks
  // the scale does not restore this one: divided by a scale from zero, it would throw weights far.
  const char* scale = nullptr;
  // Packed in cells of these codes (packed_state.hpp), as u8; small tensors are float32
  // (packed_states.hpp).
  std::optional<CodeMap> packed = {};
  StateStart start = StateStart::zero;
  StateScope scope = StateScope::all;
  const char* root = "/optimizer/";  // HDF5 group of the state's group; null: it is at the root

  /// Whether a parameter has it. `matrix`: MatrixRule steps the parameter.
  bool of(bool matrix) const {
    return scope == StateScope::all || (scope == StateScope::matrices) == matrix;
  }
  /// Its type in checkpoints, which any optimizer and any grid can read.
  DType saved_type() const { return packed ? DType::f32 : type; }
};
inline constexpr std::size_t most_states = 5;  // 4 of any row, and the weights' average

/// Tensors of an update of n parameters: each (n), contiguous. `parameter` is float32; `weights` is
/// its 16-bit copy, or empty; `gradient` has any type; `factor`: (1), from clip_factor(). `states`:
/// those of OptimizerRule::states, in their order. A packed state is (n) float32 if the tensor is
/// small, else (packed_bytes(n)) u8; the n parameters are then of one tensor and begin a cell.
struct UpdateTensors {
  Tensor parameter, weights, gradient, factor;
  std::array<Tensor, most_states> states = {};
};

/// Numbers of an update.
struct UpdateStep {
  const OptimizerConfig& config;  // complete()
  double learning_rate, weight_decay;
  double beta1, beta2;
  std::int64_t step;  // of the run, counted from 1
  // Updates of each state since it began at zero, this one included: fewer than `step` if the run
  // resumed the checkpoint of another optimizer, or had frozen the tensor.
  std::array<std::int64_t, most_states> updates;
  std::optional<ElementNumbers> stochastic = {};  // as AdamWOptions::stochastic

  double number(const char* name) const;  // of optimizer.params
  bool flag(const char* name) const { return number(name) != 0.0; }
  double clip_value() const;  // infinity: elements are not clipped
};

/// Steps of matrices along the orthogonal factor of a direction (Muon), in place of
/// OptimizerRule::update.
struct MatrixRule {
  /// Sets `direction`, (n) float32, from the gradient, and updates the states.
  void (*momentum)(const Stream& stream, const Tensor& direction, const UpdateTensors& tensors,
                   const UpdateStep& step);
  /// How whole matrices of directions are made orthogonal, and the factor of the result for a
  /// tensor of Hugging Face's shape (rows, columns).
  NewtonSchulz (*iteration)(const OptimizerConfig& config);
  double (*factor)(const OptimizerConfig& config, std::int64_t rows, std::int64_t columns);
  /// Updates the parameter by the orthogonal direction.
  void (*update)(const Stream& stream, const Tensor& direction, const UpdateTensors& tensors,
                 const UpdateStep& step);
};

struct OptimizerRule {
  const char* name;                      // optimizer.type, in DeepSpeed's spelling
  std::vector<const char*> other_names;  // Hugging Face's, in TrainingArguments.optim
  std::vector<RuleParameter> (*parameters)();
  /// States that `config`, which is complete(), requires.
  std::vector<StateKind> (*states)(const OptimizerConfig& config);
  /// One pass over memory. The tensors are in the stream's memory.
  void (*update)(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step);
  /// Checks that the parameters agree with each other; null: nothing to check.
  void (*check)(Settings& settings, ErrorList& errors) = nullptr;
  const MatrixRule* matrices = nullptr;  // of matrices of blocks; null: like all parameters
};

/// All optimizers, in the order in which errors and the reference list them.
std::span<const OptimizerRule* const> optimizer_rules();
/// The optimizer called `name`, a value of OptimizerConfig::type.
const OptimizerRule& optimizer_rule(const std::string& name);

/// `config` with the defaults of the numbers that it lacks.
OptimizerConfig complete(OptimizerConfig config);
/// Running average of the weights (run.ema), a state like any other.
struct WeightAverage {
  double decay = 0.999;
  std::int64_t interval = 1;  // steps
  bool operator==(const WeightAverage&) const = default;
};
inline constexpr const char* average_state = "average";
/// The average that is kept; none: none is. In OptimizerConfig it is two of the numbers.
std::optional<WeightAverage> weight_average_of(const OptimizerConfig& config);
void set_weight_average(OptimizerConfig& config, const WeightAverage& average);
/// States of the optimizer of a job, and after them the weights' average if it is kept.
std::vector<StateKind> states_of(const OptimizerConfig& config);

}  // namespace triax
