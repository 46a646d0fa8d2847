// SPDX-License-Identifier: Apache-2.0
// Bytes of model state per rank and parameter, by ZeRO stage, after a step in bf16 with the data
// axis over all ranks: mpiexec -n N bench_model_state STAGE [bf16|f32], the type being the
// gradients'. One process per case, because freed memory need not go back to the system.
// Prints one JSON line: bytes that rank 0's stores allocated, against 16, 4 + 12/N, 2 + 14/N and
// 16/N (Rajbhandari et al. 2020; 2 more for float32 gradients), and the growth of the process,
// against everything that the dry run lists.
#include <mpi.h>

#include <chrono>
#include <cstdio>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/report.hpp"
#include "benchmarks/support/training_job.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/forecast/plan_size.hpp"
#include "src/forecast/process_memory.hpp"
#include "src/trainer/trainer.hpp"

namespace {

using namespace triax;

constexpr int sequence = 64;

LoadedJob make_job(int ranks, int stage, DType gradients, const std::string& tokens) {
  LoadedJob job;
  Config& config = job.config;
  config.model = benchmark::gpt2(8, 512, 8, 8192);
  config.data.train = {tokens};
  config.data.shuffle = false;
  config.data.sequence_length = sequence;
  config.parallel.data = ranks;
  config.batch = {ranks, 1, 1};
  config.checkpoint.resume = "never";
  config.zero.stage = stage;
  config.zero.persistence_threshold = 0;
  config.precision.type = DType::bf16;
  config.precision.gradient_type = gradients;
  config.run.steps = 1;
  return job;
}

// Bytes per parameter by what each ZeRO stage shards: 12 of master weights and moments, gradients,
// 2 of weights.
double expected_bytes(int stage, DType gradients, double ranks) {
  const auto cut_from = [&](int first, double bytes) {
    return stage >= first ? bytes / ranks : bytes;
  };
  return cut_from(1, 12.0) + cut_from(2, static_cast<double>(size_of(gradients))) +
         cut_from(3, 2.0);
}

void measure(const MpiSession& session, int stage, DType gradients) {
  const int ranks = session.size();
  ProcessGrid grid(MPI_COMM_WORLD, {.data = ranks});
  const benchmark::TokenShard shard(ranks * sequence + 1, 8192);
  const LoadedJob job = make_job(ranks, stage, gradients, shard.path());
  const double before = static_cast<double>(resident_bytes());
  const auto start = std::chrono::steady_clock::now();
  Trainer trainer(job, grid);
  trainer.train_step(0);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double grown = static_cast<double>(resident_bytes()) - before;
  if (session.rank() != 0) return;
  const Allocations held = trainer.allocations();
  const double parameters = count_parameters(job.config.model);
  const double state = static_cast<double>(held.state.parameters + held.state.gradients +
                                           held.optimizer.master + held.optimizer.moments);
  const double expected = expected_bytes(stage, gradients, ranks);
  const KindBytes listed = by_kind(held, 0);
  benchmark::print_result(
      "model_state",
      fmt::format("ranks={} stage={} gradients={}", ranks, stage, name_of(gradients)),
      {seconds.count(), 0.0},
      {{"parameters", parameters},
       {"state_bytes", state},
       {"bytes_per_parameter", state / parameters},
       {"expected_per_parameter", expected},
       {"of_expected", state / (expected * parameters)},
       {"peak_fraction", expected * parameters / state},
       {"gathered_bytes", static_cast<double>(listed.gathered)},
       {"activation_bytes", static_cast<double>(listed.activations)},
       {"buffer_bytes", static_cast<double>(listed.buffers)},
       {"listed_bytes", static_cast<double>(listed.total())},
       {"grown_bytes", grown},
       {"grown_of_listed", grown / static_cast<double>(listed.total())}});
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(&argc, &argv);
  int stage = 0;
  std::string gradients = "bf16";
  CLI::App app{
      "Bytes of model state a rank and parameter after a step in bf16, the data axis over all "
      "ranks, against the ZeRO paper's: one JSON line. A process a case (mpiexec -n N)."};
  app.add_option("stage", stage, "ZeRO stage")->required()->check(CLI::Range(0, 3));
  app.add_option("gradients", gradients, "Type of the gradients")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
  if (const auto status = benchmark::refused(app, argc, argv, session.rank() == 0)) return *status;
  try {
    const KernelRuntime runtime(1);
    measure(session, stage, gradients == "f32" ? DType::f32 : DType::bf16);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(3);
  }
}
