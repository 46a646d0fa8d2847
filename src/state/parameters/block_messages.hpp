#pragma once
// What ParameterStore sends for a block, before it is sent: for dry runs.
#include "src/comm/interface/planned_messages.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Messages of one rank, one call each.
struct BlockMessages {
  Messages tensor_sum;            // tensor axis: sum_over_tensor
  Messages replica_sum;           // data axis: sum_over_replicas
  Messages reduce;                // data axis: start_reduce
  Messages tied_sum;              // pipeline axis: sum_tied of first and last stage
  std::vector<Messages> gathers;  // data axis, by piece: start_gather
};

/// `block` as it is laid out on the rank, which is one of `tensor_size` along tensor; what is cut
/// along data, the options say.
BlockMessages block_messages(const ParameterBlock& block, const StateOptions& options,
                             int tensor_size);

}  // namespace triax
