// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the states of a range of a bucket. A packed state is one tensor of bytes: the cells of
// the range, then the float32 state of each small tensor of the bucket. So its size follows from
// the number of elements alone, and is the same on all data ranks. Parameters, shards and
// sub-groups begin cells (state_alignment), so that no ZeRO level changes a cell.
#include <cstdint>
#include <vector>

#include "src/state/optimizer/rules/rules.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// DataShard::alignment for these states.
std::int64_t state_alignment(const std::vector<StateKind>& states);
bool has_packed(const std::vector<StateKind>& states);

/// Whether states of the parameter are packed. As in bitsandbytes, those of tensors with fewer than
/// 4096 elements are not; nor are those whose cells would hold elements of several tensors, or of a
/// tensor that other tensor ranks have too (they would round their copies differently).
bool is_packed(const ParameterSpec& spec);

/// Whether the parameters of a bucket have the state.
bool has_state(const StateKind& kind, const ParameterBlock& block);
/// Elements (of kind.type) of the state's tensor for `count` elements of a bucket; 0: they have
/// none.
std::int64_t state_elements(const StateKind& kind, const ParameterBlock& block, std::int64_t count);
/// Bytes of all states for `count` elements of a bucket.
std::int64_t bytes_of(const std::vector<StateKind>& states, const ParameterBlock& block,
                      std::int64_t count);
/// Bytes of all states for an element of a large tensor. `matrix`: MatrixRule steps it, if any
/// does.
double bytes_per_element(const std::vector<StateKind>& states, bool matrix);

/// Elements of `type` from a byte of `memory` on.
Tensor typed(const Tensor& memory, std::int64_t byte, DType type, std::int64_t count);

/// State of the elements `range` of a bucket, of its `parameter`, as an update takes it
/// (UpdateTensors); empty if they have none. `view`: of a range that holds them. A packed state
/// must have the parameter's elements from the beginning of a cell.
Tensor state_at(const StateKind& kind, const ParameterBlock& block, int parameter,
                const BlockView& view, const FlatRange& range);

/// Elements [begin, begin + count) of a state of an update, n elements; `begin` begins a cell.
Tensor state_portion(const Tensor& state, std::int64_t n, std::int64_t begin, std::int64_t count);

}  // namespace triax
