// SPDX-License-Identifier: Apache-2.0
// The whole training step, on the cores and with the code of `triax train`: tokens per second, and
// the fraction of the product rate measured in the same run (Place::product_rate).
//   benchmarks/step                                   GPT-2 124M, B=2, T=512, one rank
//   mpiexec -n 2 benchmarks/step --data 2             the same work on two ranks
//   benchmarks/step --device gpu --type bf16 --batch 16 --seq 1024
//   benchmarks/step --from DIR --tokens SHARD         a Hugging Face model and an llm.c shard
#include <mpi.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/place.hpp"
#include "benchmarks/support/report.hpp"
#include "benchmarks/support/step_options.hpp"
#include "benchmarks/support/training_job.hpp"
#include "io/files/mapped_file.hpp"
#include "kernels/cuda/launch/kernel_times.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/config/load/load.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/forecast/memory_check.hpp"
#include "src/model/stage/partition.hpp"
#include "src/trainer/trainer.hpp"

namespace {

using namespace triax;
using benchmark::micro_of;
using benchmark::TokenShard;
using Options = benchmark::StepOptions;

const std::map<std::string, Recompute>& recomputes() {
  static const std::map<std::string, Recompute> all = {
      {"none", Recompute::none}, {"selective", Recompute::attention}, {"full", Recompute::layer}};
  return all;
}

const std::map<std::string, DType>& types() {
  static const std::map<std::string, DType> all = {
      {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}};
  return all;
}

ModelConfig model_of(const Options& options) {
  if (options.from.empty()) {
    ModelConfig model = benchmark::model_shapes().at(options.model);
    if (options.layers > 0) model.layers = options.layers;
    return model;
  }
  const MappedFile file(options.from + "/config.json");
  ModelConfig model = model_from_huggingface(
      {reinterpret_cast<const char*>(file.data()), file.size()}, file.path());
  model.weights = options.from;
  return model;
}

LoadedJob make_job(const Options& options, const ModelConfig& model, const std::string& tokens) {
  LoadedJob job;
  Config& config = job.config;
  config.model = model;
  if (model.weights.empty())
    config.model.positions = static_cast<int>(std::max<std::int64_t>(1024, options.sequence));
  config.data.train = {tokens};
  config.data.shuffle = false;
  config.data.sequence_length = static_cast<int>(options.sequence);
  config.parallel.tensor = options.tensor;
  config.parallel.pipeline = options.pipeline;
  config.parallel.data = options.data;
  config.parallel.schedule = options.schedule;
  const std::int64_t unit =
      std::int64_t{options.data} * (options.micro > 0 ? options.micro : options.pipeline);
  if (options.batch % unit != 0)
    throw UsageError(fmt::format("a batch of {} is not a multiple of {}", options.batch, unit),
                     "data size x micro-batch, or x pipeline stages", "Choose another --batch");
  config.batch.global = options.batch;
  config.batch.micro = micro_of(options);
  config.batch.accumulation = options.batch / options.data / config.batch.micro;
  config.checkpoint.resume = "never";
  config.gradient_clipping = 1.0;
  config.zero.stage = options.zero;
  config.precision.type = types().at(options.type);
  config.precision.gradient_type =
      options.gradients.empty() ? config.precision.type : types().at(options.gradients);
  config.recompute.what = recomputes().at(options.recompute);
  config.recompute.keep_outputs = options.keep_outputs;
  config.run.steps = options.steps + 1;  // one step more for the times by kernel
  return job;
}

// Number of GPUs of all ranks. Several ranks may share one. Collective.
double gpus(const ProcessGrid& grid) {
  double share = 1.0 / std::max(1.0, static_cast<double>(grid.ranks_of_device().size()));
  MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return share;
}

// The timed steps.
struct Timed {
  std::vector<double> seconds;
  double first_loss = 0.0;
  double on_messages = 0.0;  // seconds of this rank
  StepMetrics last;
  std::int64_t device_bytes = 0;
  std::vector<cuda::KernelTime> kernels;
};

Timed time_steps(const Options& options, const ProcessGrid& grid, Trainer& trainer) {
  const bool gpu = options.device == "gpu";
  const auto spent_on_messages = [&] {
    double spent = 0;
    for (const Axis axis : all_axes) spent += grid.message_times(axis).spent;
    return spent;
  };
  Timed timed;
  const double spent_before = spent_on_messages();
  for (int step = 1; step < options.steps; ++step) {
    timed.last = trainer.train_step(step);
    timed.seconds.push_back(timed.last.step_seconds);
  }
  timed.on_messages = spent_on_messages() - spent_before;
  if (gpu) timed.device_bytes = on_gpu_by_kind(trainer.allocations()).total();
  if (gpu && options.kernels) {
    cuda::time_kernels(trainer.stream());
    trainer.train_step(options.steps);
    timed.kernels = cuda::kernel_times(trainer.stream());
  }
  return timed;
}

// The limits that a step is compared with.
struct Limits {
  benchmark::Limit product;  // on all ranks together
  double maker = 0.0;        // FLOP/s of their GPUs, as their maker says; 0: unknown
};

using Figures = std::vector<std::pair<std::string_view, double>>;

// Adds fractions of the limits. On a GPU: of a large product's rate in the same run and of the
// maker's rate, with attention's causal half and with the whole square.
void add_fractions(Figures& figures, const Limits& limits, double flops, double square, bool gpu) {
  figures.emplace_back("peak_fraction", flops / limits.product.per_second);
  if (!gpu) return;
  figures.emplace_back("peak_fraction_full_attention", square / limits.product.per_second);
  if (limits.maker <= 0.0) return;
  figures.emplace_back("mfu", flops / limits.maker);
  figures.emplace_back("mfu_full_attention", square / limits.maker);
}

void report(const Options& options, const ProcessGrid& grid, const ModelConfig& model,
            const Timed& timed, const Limits& limits, const benchmark::Ranks& ranks) {
  const bool gpu = options.device == "gpu";
  const benchmark::Timing timing = benchmark::timing_of(timed.seconds);
  const double rate = static_cast<double>(options.batch * options.sequence) / timing.seconds;
  const double flops = rate * training_flops_per_token(model, options.sequence);
  Figures rates = {{"tokens_per_second", rate}, {"flops_per_second", flops}};
  add_fractions(rates, limits, flops,
                flops + rate * attention_flops_per_token(model, options.sequence), gpu);
  if (gpu) rates.emplace_back("device_bytes", static_cast<double>(timed.device_bytes));
  if (grid.size() > 1 && (!gpu || grid.stages_messages()))  // of this rank
    rates.emplace_back(
        "message_fraction",
        timed.on_messages / std::accumulate(timed.seconds.begin(), timed.seconds.end(), 0.0));
  rates.emplace_back("peak_memory_bytes", static_cast<double>(timed.last.peak_memory_bytes));
  rates.emplace_back("cores", ranks.cores);
  rates.emplace_back("first_loss", timed.first_loss);
  std::vector<std::pair<std::string_view, std::string>> words = {{"program", options.program},
                                                                 {"limit", limits.product.name}};
  if (!options.series.empty()) words.emplace_back("series", options.series);
  const std::string name = benchmark::case_of(
      options, gpu ? "on " + grid.devices() : fmt::format("threads {}", ranks.threads));
  benchmark::print_result("step", name, timing, rates, words);
  for (const cuda::KernelTime& kernel : timed.kernels)
    benchmark::print_result(
        "step_kernels", fmt::format("{}: {}", name, kernel.name), {kernel.seconds, 0.0},
        {{"calls", kernel.calls}, {"of_step", kernel.seconds / timing.seconds}});
}

void time_training(const Options& options) {
  const bool gpu = options.device == "gpu";
  const MemorySpace space = gpu ? MemorySpace::device : MemorySpace::host;
  const benchmark::OwnCores cores(options.threads, space);
  const benchmark::Ranks& ranks = cores.ranks();
  ProcessGrid grid(MPI_COMM_WORLD, {options.data, options.pipeline, options.tensor}, {}, 0.0,
                   space);
  cores.print_machine(gpu ? grid.devices() : "");
  // Measured before training takes the GPU's memory.
  const Limits limits{benchmark::Place(space, ranks).product_rate(types().at(options.type)),
                      gpu ? options.peak_flops * gpus(grid) : 0.0};
  const ModelConfig model = model_of(options);
  std::optional<TokenShard> shard;
  if (options.tokens.empty())
    shard.emplace(options.batch * options.sequence * (options.steps + 1) + 1, model.vocabulary);
  const LoadedJob job = make_job(options, model, shard ? shard->path() : options.tokens);
  JobPlan plan = plan_job(on_grid(job.config, grid));
  check_fits(plan.config, plan.memory, grid);
  Trainer trainer(job, grid, std::move(plan));
  const double first_loss = trainer.train_step(0).loss;  // touches the memory, compiles the GEMMs
  trainer.choose_messages();
  Timed timed = time_steps(options, grid, trainer);
  timed.first_loss = first_loss;
  if (ranks.rank == 0) report(options, grid, job.config.model, timed, limits, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(&argc, &argv);
  Options options;
  CLI::App app{
      "Times whole training steps: one JSON line with tokens/s and the fraction of the float32 FMA "
      "peak, in 16 bits and on a GPU of what a large product of the type has there."};
  benchmark::add_options(app, options);
  if (const auto status = benchmark::refused(app, argc, argv, session.rank() == 0)) return *status;
  try {
    time_training(options);
    return 0;
  } catch (const UsageError&
               error) {  // thrown on all ranks, for example if the job does not fit the machine
    if (session.rank() == 0) fmt::print(stderr, "step: {}\n", error.what());
    return 2;
  } catch (const Error& error) {
    fmt::print(stderr, "step: {}\n", error.what());
    session.abort(3);
  }
}
