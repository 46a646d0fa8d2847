// The whole training step: tokens a second and the fraction of the FMA peak measured in the same
// run.
//   benchmarks/step                                   GPT-2 124M, B=2, T=512, one rank
//   mpiexec -n 2 benchmarks/step --data 2             the same work on two ranks
//   benchmarks/step --device gpu --type bf16 --batch 16 --seq 1024
//   benchmarks/step --from DIR --tokens SHARD         a Hugging Face model and an llm.c shard
#include <mpi.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/machine.hpp"
#include "benchmarks/support/place.hpp"
#include "benchmarks/support/report.hpp"
#include "benchmarks/support/training_job.hpp"
#include "io/mapped_file.hpp"
#include "kernels/base/runtime.hpp"
#include "kernels/cuda/kernel_times.hpp"
#include "src/comm/mpi_session.hpp"
#include "src/config/load.hpp"
#include "src/train/memory_check.hpp"
#include "src/train/trainer.hpp"

namespace {

using namespace triax;
using benchmark::TokenShard;

struct Options {
  std::string model = "gpt2-124m";
  int layers = 0;  // the model's
  int tensor = 1, pipeline = 1, data = 1, zero = 0, threads = 1, steps = 7;
  std::int64_t batch = 2, micro = 0, sequence = 512;
  std::string recompute = "none";
  std::string schedule = "1f1b";
  std::string type = "f32", gradients;  // gradients: as type
  std::string device = "cpu";
  double peak_flops = 0.0;   // of a GPU, as its maker says; 0: not known
  bool kernels = false;      // times by kernel too
  std::string from, tokens;  // empty: a shape of ours, random tokens
  std::string name, program = "triax", series;
};

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
  config.batch.micro =
      options.micro > 0 ? options.micro : options.batch / options.data / options.pipeline;
  config.batch.accumulation = options.batch / options.data / config.batch.micro;
  config.checkpoint.resume = "never";
  config.gradient_clipping = 1.0;
  config.zero.stage = options.zero;
  config.precision.type = types().at(options.type);
  config.precision.gradient_type =
      options.gradients.empty() ? config.precision.type : types().at(options.gradients);
  config.recompute.what = recomputes().at(options.recompute);
  config.run.steps = options.steps + 1;  // one of them for the times by kernel
  return job;
}

std::string case_of(const Options& options, const ProcessGrid& grid) {
  if (!options.name.empty()) return options.name;
  const std::string cut = options.layers > 0 ? fmt::format(" {} layers", options.layers) : "";
  return fmt::format("{}{} B={} T={} {} tensor {} pipeline {} data {} zero {} recompute {} {}",
                     options.from.empty() ? options.model : options.from, cut, options.batch,
                     options.sequence, options.type, options.tensor, options.pipeline, options.data,
                     options.zero, options.recompute,
                     options.device == "gpu" ? "on " + grid.devices()
                                             : fmt::format("threads {}", options.threads));
}

double product_rate(const Options& options) {
  return benchmark::Place(MemorySpace::device).product_rate(types().at(options.type));
}

// The steps that were timed.
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

void report(const Options& options, const ProcessGrid& grid, const ModelConfig& model,
            const Timed& timed, double peak, int cores) {
  const bool gpu = options.device == "gpu";
  const benchmark::Timing timing = benchmark::timing_of(timed.seconds);
  const double rate = static_cast<double>(options.batch * options.sequence) / timing.seconds;
  const double flops = rate * training_flops_per_token(model, options.sequence);
  std::vector<std::pair<std::string_view, double>> rates = {{"tokens_per_second", rate},
                                                            {"flops_per_second", flops}};
  // On a GPU against what a large product has there, in the same run, and against what its maker
  // says; with attention's causal half, and with the whole square.
  rates.emplace_back("peak_fraction", flops / peak);
  if (gpu) {
    const double square = flops + rate * attention_flops_per_token(model, options.sequence);
    rates.emplace_back("peak_fraction_full_attention", square / peak);
    if (options.peak_flops > 0.0) {
      rates.emplace_back("mfu", flops / (options.peak_flops * grid.size()));
      rates.emplace_back("mfu_full_attention", square / (options.peak_flops * grid.size()));
    }
    rates.emplace_back("device_bytes", static_cast<double>(timed.device_bytes));
  }
  if (grid.size() > 1 && (!gpu || grid.stages_messages()))  // of this rank
    rates.emplace_back(
        "message_fraction",
        timed.on_messages / std::accumulate(timed.seconds.begin(), timed.seconds.end(), 0.0));
  rates.emplace_back("peak_memory_bytes", static_cast<double>(timed.last.peak_memory_bytes));
  rates.emplace_back("cores", cores);
  rates.emplace_back("first_loss", timed.first_loss);
  std::vector<std::pair<std::string_view, std::string>> words = {{"program", options.program}};
  if (!options.series.empty()) words.emplace_back("series", options.series);
  const std::string name = case_of(options, grid);
  benchmark::print_result("step", name, timing, rates, words);
  for (const cuda::KernelTime& kernel : timed.kernels)
    benchmark::print_result(
        "step_kernels", fmt::format("{}: {}", name, kernel.name), {kernel.seconds, 0.0},
        {{"calls", kernel.calls}, {"of_step", kernel.seconds / timing.seconds}});
}

void measure(const Options& options, const MpiSession& session) {
  const KernelRuntime runtime(options.threads);
  const bool gpu = options.device == "gpu";
  ProcessGrid grid(MPI_COMM_WORLD, {options.data, options.pipeline, options.tensor}, {}, 0.0,
                   gpu ? MemorySpace::device : MemorySpace::host);
  const int cores = session.size() * options.threads;
  // Before the training takes the GPU's memory.
  const double peak =
      gpu ? product_rate(options) * session.size() : benchmark::measure_fma_peak() * session.size();
  const ModelConfig model = model_of(options);
  std::optional<TokenShard> shard;
  if (options.tokens.empty())
    shard.emplace(options.batch * options.sequence * (options.steps + 1) + 1, model.vocabulary);
  const LoadedJob job = make_job(options, model, shard ? shard->path() : options.tokens);
  JobPlan plan = plan_job(on_grid(job.config, grid));
  check_fits(plan.config, plan.memory, grid);
  Trainer trainer(job, grid, std::move(plan));
  const double first_loss = trainer.train_step(0).loss;  // takes the pages, compiles the GEMMs
  trainer.choose_messages();
  Timed timed = time_steps(options, grid, trainer);
  timed.first_loss = first_loss;
  if (session.rank() == 0) report(options, grid, job.config.model, timed, peak, cores);
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(&argc, &argv);
  Options options;
  CLI::App app{
      "Times whole training steps: one JSON line with tokens/s and the fraction of the float32 FMA "
      "peak, on a GPU of what a large product of the type has there."};
  std::vector<std::string> names;
  for (const auto& entry : benchmark::model_shapes()) names.push_back(entry.first);
  app.add_option("--model", options.model)->check(CLI::IsMember(names))->capture_default_str();
  app.add_option("--layers", options.layers,
                 "Blocks of --model (default: all): as many as fit a machine");
  app.add_option("--batch", options.batch, "Sequences a step over all ranks")
      ->capture_default_str();
  app.add_option("--micro", options.micro,
                 "Sequences a micro-batch (default: batch / data / pipeline)");
  app.add_option("--seq", options.sequence, "Tokens a sequence")->capture_default_str();
  app.add_option("--steps", options.steps, "Steps, the first of which is not counted")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  app.add_option("--tensor", options.tensor)->capture_default_str();
  app.add_option("--pipeline", options.pipeline)->capture_default_str();
  app.add_option("--data", options.data)->capture_default_str();
  app.add_option("--zero", options.zero)->check(CLI::Range(0, 3))->capture_default_str();
  app.add_option("--type", options.type, "Of parameters and activations: f32, bf16, f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  app.add_option("--gradients", options.gradients, "Type of the gradients (default: --type)")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  app.add_option("--schedule", options.schedule)->capture_default_str();
  app.add_option("--threads", options.threads, "Cores a rank")->capture_default_str();
  app.add_option("--device", options.device, "What computes: cpu, gpu")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  app.add_option("--peak-flops", options.peak_flops,
                 "FLOP/s of a GPU as its maker says, for mfu (default: no mfu)");
  app.add_flag("--kernels", options.kernels,
               "On a GPU: one more step, timed kernel by kernel, with a line for each");
  app.add_option("--recompute", options.recompute, "Of every layer: none, selective, full")
      ->check(CLI::IsMember({"none", "selective", "full"}))
      ->capture_default_str();
  app.add_option(
         "--from", options.from,
         "Directory of a Hugging Face model (config.json and safetensors) to train in place "
         "of --model")
      ->check(CLI::ExistingDirectory);
  app.add_option("--tokens", options.tokens,
                 "Shard of tokens in llm.c's format (default: random tokens)")
      ->check(CLI::ExistingFile);
  app.add_option("--case", options.name, "Name of the case in the line (default: what runs)");
  app.add_option("--program", options.program, "Name of the program, beside its peers")
      ->capture_default_str();
  app.add_option("--series", options.series,
                 "Name of the scaling series that this run is a point of (benchmarks/summarize)");
  if (const auto status = benchmark::refused(app, argc, argv, session.rank() == 0)) return *status;
  try {
    measure(options, session);
    return 0;
  } catch (const UsageError& error) {  // on all ranks: does not fit this machine, say
    if (session.rank() == 0) fmt::print(stderr, "step: {}\n", error.what());
    return 2;
  } catch (const Error& error) {
    fmt::print(stderr, "step: {}\n", error.what());
    session.abort(3);
  }
}
