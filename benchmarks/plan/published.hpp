// SPDX-License-Identifier: Apache-2.0
#pragma once
// Published runs of GPT models: their layout and what was measured.
#include <span>

namespace triax::benchmark {

struct PublishedRun {
  const char* name;
  const char* machine;  // preset
  int hidden, layers, heads, vocabulary, sequence;
  int tensor, pipeline, data;
  int batch;        // samples per step, all ranks
  int micro;        // 0: not published, the best that fits
  int chunks;       // 0: not published, the best; 1: 1f1b; 2: interleaved, the best number
  bool recompute;   // all blocks recompute, and their FLOPs count in `measured`
  double measured;  // TFLOP/s per GPU, attention counting all pairs; or samples/s per GPU
  bool samples;     // the latter
};

/// Megatron-LM on H100: weak scaling from 1.7B to 462B, strong scaling of 177B; 1T on A100
/// (Narayanan et al. 2021); 1f1b and interleaved on A100 beside zero bubble (Qi et al. 2023).
std::span<const PublishedRun> published_runs();

}  // namespace triax::benchmark
