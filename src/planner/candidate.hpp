// SPDX-License-Identifier: Apache-2.0
#pragma once
// One layout of a job: what the planner chooses.
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// State that leaves the GPU between its uses.
enum class Offload : std::uint8_t { none, optimizer, parameters };

struct Candidate {
  int tensor = 1, pipeline = 1, data = 1;
  int chunks = 1;  // above 1: the schedule is interleaved
  bool zero_bubble = false;
  std::int64_t micro = 1, accumulation = 1;
  int zero = 0;
  Recompute recompute = Recompute::none;
  Offload offload = Offload::none;

  int ranks() const { return tensor * pipeline * data; }
  std::string schedule() const {
    return chunks > 1 ? "interleaved" : zero_bubble ? "zero-bubble" : "1f1b";
  }
  /// "tensor 8 x pipeline 4 x data 4, 1f1b, micro 1 x 64, ZeRO-1, recompute layer"
  std::string text() const;
  bool operator==(const Candidate&) const = default;
};

/// "none", "attention", "layer"; "none", "optimizer", "optimizer and parameters".
std::string name_of(Recompute what);
std::string name_of(Offload what);

/// Key of a job file and its value, as JSON text.
struct KeyValue {
  std::string key, value;
};
/// The keys that give a job this layout. `global`: train_batch_size.
std::vector<KeyValue> keys_of(const Candidate& candidate, std::int64_t global);
/// The same as "KEY=VALUE", as --set takes them.
std::vector<std::string> overrides_of(const Candidate& candidate, std::int64_t global);

}  // namespace triax
