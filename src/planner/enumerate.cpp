// SPDX-License-Identifier: Apache-2.0
#include "src/planner/enumerate.hpp"

#include <algorithm>

namespace triax {
namespace {

std::vector<int> divisors(int number, int most) {
  std::vector<int> found;
  for (int d = 1; d <= std::min(number, most); ++d)
    if (number % d == 0) found.push_back(d);
  return found;
}

// Chunks per stage of the interleaved schedule, 1 first.
std::vector<int> chunk_counts(int layers, int pipeline, std::int64_t accumulation) {
  std::vector<int> counts = {1};
  if (pipeline == 1 || accumulation % pipeline != 0) return counts;
  for (int chunks = 2; chunks * pipeline <= layers; ++chunks) {
    // The embedding and the head count like about a block each in published layouts.
    const int total = chunks * pipeline;
    if (layers % total == 0 || (layers + 2) % total == 0 || (layers + 1) % total == 0)
      counts.push_back(chunks);
  }
  return counts;
}

class Enumeration {
 public:
  Enumeration(const Config& job, const Machine& machine) : job_(job), machine_(machine) {}

  void add_grid(int tensor, int pipeline, int data) {
    if (job_.batch.global % data != 0) return;
    const std::int64_t samples = job_.batch.global / data;
    for (std::int64_t micro = 1; micro <= samples && micro <= 64; micro *= 2) {
      if (samples % micro != 0) break;
      const std::int64_t accumulation = samples / micro;
      if (accumulation > most_microbatches) continue;
      for (const int chunks : chunk_counts(job_.model.layers, pipeline, accumulation))
        add_memory({.tensor = tensor,
                    .pipeline = pipeline,
                    .data = data,
                    .chunks = chunks,
                    .micro = micro,
                    .accumulation = accumulation});
    }
  }

  std::vector<Candidate> take() { return std::move(found_); }

 private:
  // Plans beyond this many micro-batches are too long to be looked at by the thousand.
  static constexpr std::int64_t most_microbatches = 4096;

  void add_memory(Candidate candidate) {
    const int most_zero = candidate.data > 1 ? 3 : 0;
    const bool offloads = machine_.space == MemorySpace::device && machine_.host_bandwidth > 0.0;
    for (int zero = 0; zero <= most_zero; ++zero)
      for (const Recompute what : {Recompute::none, Recompute::attention, Recompute::layer})
        for (const Offload where : {Offload::none, Offload::optimizer, Offload::parameters}) {
          if (where != Offload::none && !offloads) continue;
          if (where == Offload::parameters && zero != 3) continue;
          candidate.zero = zero;
          candidate.recompute = what;
          candidate.offload = where;
          for (const bool zero_bubble : {false, true}) {
            const bool can = candidate.pipeline > 1 && candidate.chunks == 1 && zero <= 1;
            if (zero_bubble && !can) continue;
            candidate.zero_bubble = zero_bubble;
            found_.push_back(candidate);
          }
        }
  }

  const Config& job_;
  const Machine& machine_;
  std::vector<Candidate> found_;
};

}  // namespace

std::vector<Candidate> enumerate(const Config& job, const Machine& machine, int ranks) {
  Enumeration enumeration(job, machine);
  for (const int tensor : divisors(ranks, machine.ranks_per_node)) {
    if (job.model.heads % tensor != 0) continue;
    if (machine.ranks_per_node % tensor != 0 && ranks > machine.ranks_per_node) continue;
    for (const int pipeline : divisors(ranks / tensor, job.model.layers))
      enumeration.add_grid(tensor, pipeline, ranks / tensor / pipeline);
  }
  return enumeration.take();
}

}  // namespace triax
