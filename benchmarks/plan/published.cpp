// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/plan/published.hpp"

namespace triax::benchmark {

// The weak-scaling table gives numbers of parameters; hidden sizes and layers are those of GPT
// models with that many (12 L h^2 + 2 V h), embeddings not tied.
std::span<const PublishedRun> published_runs() {
  static constexpr int v = 131072;
  // Two chunks on 32 stages need 64 blocks here, where the published model has 62: its embedding
  // and head count as two. Priced with 64, of which a sample takes as much longer.
  static constexpr double of_64 = 62.0 / 64.0;
  static constexpr PublishedRun runs[] = {
      {"weak/1.7B", "h100", 2048, 24, 16, v, 4096, 1, 1, 48, 192, 0, 0, false, 408.8, false},
      {"weak/7.1B", "h100", 4096, 30, 32, v, 4096, 2, 1, 48, 192, 0, 0, false, 465.9, false},
      {"weak/16B", "h100", 6144, 32, 48, v, 4096, 4, 1, 48, 192, 0, 0, false, 489.1, false},
      {"weak/32B", "h100", 7168, 48, 56, v, 4096, 8, 1, 48, 192, 0, 0, false, 459.6, false},
      {"weak/70B", "h100", 8192, 84, 64, v, 4096, 8, 2, 48, 384, 0, 0, false, 419.7, false},
      {"weak/119B", "h100", 12288, 64, 96, v, 4096, 8, 4, 48, 768, 0, 0, false, 420.5, false},
      {"weak/177B", "h100", 12288, 96, 96, v, 4096, 8, 6, 48, 1152, 0, 0, false, 432.8, false},
      {"weak/314B", "h100", 16384, 96, 128, v, 4096, 8, 8, 48, 1536, 0, 0, false, 474.4, false},
      {"weak/462B", "h100", 18432, 112, 144, v, 4096, 8, 16, 48, 3072, 0, 0, false, 459.9, false},
      {"strong/96", "h100", 12288, 96, 96, v, 4096, 8, 6, 2, 1152, 0, 0, false, 0.47 * 989, false},
      {"strong/4608", "h100", 12288, 96, 96, v, 4096, 8, 6, 96, 1152, 0, 0, false, 0.42 * 989,
       false},
      {"1T/3072", "a100", 25600, 128, 160, 51200, 2048, 8, 64, 6, 3072, 1, 0, true, 163.0, false},
      {"bubble/1f1b-96", "a100", 6144, 62, 48, 50304, 1024, 1, 32, 1, 96, 1, 1, false, .76, true},
      {"bubble/1f1b-128", "a100", 6144, 62, 48, 50304, 1024, 1, 32, 1, 128, 1, 1, false, .80, true},
      {"bubble/1f1b-256", "a100", 6144, 62, 48, 50304, 1024, 1, 32, 1, 256, 1, 1, false, .88, true},
      {"bubble/interleaved-96", "a100", 6144, 64, 48, 50304, 1024, 1, 32, 1, 96, 1, 2, false,
       .82 * of_64, true},
      {"bubble/interleaved-128", "a100", 6144, 64, 48, 50304, 1024, 1, 32, 1, 128, 1, 2, false,
       .85 * of_64, true},
      {"bubble/interleaved-256", "a100", 6144, 64, 48, 50304, 1024, 1, 32, 1, 256, 1, 2, false,
       .90 * of_64, true},
  };
  return runs;
}

}  // namespace triax::benchmark
