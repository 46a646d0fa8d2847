// SPDX-License-Identifier: Apache-2.0
#include "src/planner/parameter_bytes.hpp"

#include "src/state/optimizer/packed_states.hpp"

namespace triax {

ParameterBytes parameter_bytes(const Config& job) {
  const auto weight = static_cast<double>(size_of(job.precision.type));
  const auto gradient = static_cast<double>(size_of(job.precision.gradient_type));
  const double master = job.precision.type == DType::f32 ? 0.0 : sizeof(float);
  return {weight, gradient, master + bytes_per_element(states_of(job.optimizer), true)};
}

}  // namespace triax
