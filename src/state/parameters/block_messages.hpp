// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages that ParameterStore will send for a bucket, for dry runs.
#include "src/comm/interface/planned_messages.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Messages of one rank, by call of ParameterStore.
struct BlockMessages {
  Messages tensor_sum;            // tensor axis: sum_over_tensor
  Messages replica_sum;           // data axis: sum_over_replicas
  Messages reduce;                // data axis: start_reduce
  Messages tied_sum;              // pipeline axis: sum_tied of first and last stage
  std::vector<Messages> gathers;  // data axis, by piece: start_gather
  // Messages of Orthogonalizer: data axis, tensor axis (by the shard's rank), data axis.
  Messages direction_gather, orthogonalize, direction_broadcast;
};

/// Messages of `block`, laid out on a rank of `tensor_size` tensor ranks; `options` give the
/// sharding over the data axis.
BlockMessages block_messages(const ParameterBlock& block, const StateOptions& options,
                             int tensor_size);

}  // namespace triax
