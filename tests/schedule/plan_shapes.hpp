// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes that the plan tests visit.
#include <cstddef>
#include <string>
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax::test {

// Largest sizes that tests of every size try.
inline constexpr int most_stages = 8;
inline constexpr int most_microbatches = 16;

enum class Layers { one, two, uneven };
enum class Marks { none, all, some };

struct ShapeOptions {
  int stages = 1;
  int chunks = 1;
  int microbatches = 1;
  MessageMatching matching = MessageMatching::by_tag;
  Layers layers = Layers::one;
  Marks recompute = Marks::none;
  bool partition = false;  // inputs of recomputed layers
  bool host_inputs = false;
  bool pools = false;     // separate pools for the frames of the first and the last layer
  bool operands = false;  // weight gradients are apart, but of the first and the last layer
  bool data_parallel = false;
  ZeroStage zero = ZeroStage::none;
  std::int64_t ahead = 0;  // elements reduced and gathered ahead
  bool replicas = false;
  bool persistent = false;  // every third block, under ZeRO-3
  bool pieces = false;      // updated parameters are gathered in several pieces
  /// Buffers for the optimizer state, in several parts in a store, of most blocks, and under ZeRO-3
  /// for their parameters; 0: everything stays in memory. From 2 on it is fetched ahead, from 3 on
  /// stored behind.
  int offload = 0;
  bool in_store = false;  // some of these parameters are stepped in the store
  bool tied = false;
  bool tensor_sum = false;  // of every other block
  bool matrices = false;    // every other block is orthogonal
  bool frozen = false;      // the layers of the first chunks, and every fourth block after them
};

/// A model with blocks of one or more layers; `tied`: the first and the last layer share a tensor.
PlanShape make_shape(const ShapeOptions& options);
std::string text_of(const ShapeOptions& options);

/// Embedding, block, and a head with the embedding's matrix: for tests of what is whole, and when.
PlanShape three_layers(ZeroStage zero, std::int64_t ahead);

/// The text of each instruction.
std::vector<std::string> lines_of(const Plan& plan);
/// Position of `op`; a failed expectation if it is absent.
std::ptrdiff_t position_of(const Plan& plan, const Op& op);

}  // namespace triax::test
