// SPDX-License-Identifier: Apache-2.0
// Tokens per second of generation, by a model with random weights from a checkpoint that
// is written and removed. Prints one JSON line for the prompt (all of its tokens together) and one
// for the tokens after it, by Generator (of float32 weights), and the same by the paged engine for
// several texts at once. A step reads every weight, and the cached keys and values of all texts,
// once: peak_fraction compares these bytes with the cores' triad.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/place.hpp"
#include "benchmarks/support/report.hpp"
#include "benchmarks/support/training_job.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "kernels/random/random.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/forecast/plan_size.hpp"
#include "src/inference/engine/cache_size.hpp"
#include "src/inference/engine/paged_engine.hpp"
#include "src/inference/generate.hpp"
#include "src/inference/held_weights.hpp"
#include "src/inference/model_files.hpp"

namespace {

using namespace triax;

struct Options {
  std::string model = "gpt2-124m";
  std::int64_t prompt = 512, tokens = 64;
  std::vector<std::int64_t> texts = {1, 4, 16};  // at once, by the paged engine
  std::string weights = "f32";                   // inference.weights
  int threads = 0;                               // for OwnCores
  std::string directory = std::filesystem::temp_directory_path();
};

/// A checkpoint of random weights for the lifetime of this object.
class RandomCheckpoint {
 public:
  RandomCheckpoint(const ModelConfig& model, const std::string& directory)
      : path_(fmt::format("{}/triax-generate-{}.h5", directory, ::getpid())) {
    std::vector<CheckpointTensor> tensors;
    for (const GlobalTensor& tensor : global_tensors(model))
      tensors.push_back({weight_group + tensor.name, DType::f32, tensor.shape});
    CheckpointHeader header;
    header.job = header.grid = "{}";
    header.model = huggingface_config(model);
    CheckpointWriter writer(path_, MPI_COMM_NULL);
    writer.create(header, tensors);
    for (const CheckpointTensor& tensor : tensors) {
      const Buffer memory(static_cast<std::size_t>(tensor.bytes()));
      const Tensor values = memory.tensor(DType::f32, {tensor.shape.elements()});
      fill_normal(Stream{}, values, mix_key(1, tensor.name), 0, 0.0F, 0.02F);
      writer.write(tensor.name, {{{}, tensor.shape}}, values);
    }
    writer.publish();
  }
  ~RandomCheckpoint() { std::filesystem::remove(path_); }
  RandomCheckpoint(const RandomCheckpoint&) = delete;
  RandomCheckpoint& operator=(const RandomCheckpoint&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Bytes that a token reads with `past` tokens before it, of weights of `width` bytes: one row of
// the embedding, but all of the head.
double bytes_of_token(const ModelConfig& model, double past, double width) {
  const double embeddings = model.tied_embeddings ? 0.0 : double(model.vocabulary) * model.hidden;
  const double positions =
      model.architecture == "gpt2" ? double(model.positions) * model.hidden : 0.0;
  const double weights = count_parameters(model) - embeddings - positions;
  const double kept = past * 2.0 * model.layers * model.kv_heads * model.head_size;
  return width * weights + sizeof(float) * kept;
}

std::vector<std::int32_t> random_tokens(std::int64_t count, std::uint64_t key,
                                        const ModelConfig& model) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<std::int32_t>(philox(key, static_cast<std::uint64_t>(i))[0] %
                                               static_cast<std::uint32_t>(model.vocabulary)));
  return tokens;
}

// Prints the lines of one way to generate `texts` texts: of the prompts, and of a step after them.
class Report {
 public:
  Report(const Options& options, const benchmark::OwnCores& cores, const ModelConfig& model)
      : options_(options),
        cores_(cores),
        model_(model),
        limit_(benchmark::Place(MemorySpace::host, cores.ranks()).memory_bandwidth()) {}

  void prompts(const std::string& way, std::int64_t texts, const benchmark::Timing& timing) const {
    benchmark::print_result(
        "generate", name(way + " prompt"), timing,
        {{"tokens_per_second", static_cast<double>(texts * options_.prompt) / timing.seconds},
         {"cores", cores_.ranks().cores}});
  }
  void steps(const std::string& way, std::int64_t texts, const benchmark::Timing& timing) const {
    const double past =
        static_cast<double>(options_.prompt) + static_cast<double>(options_.tokens) / 2;
    const double width = options_.weights == "f32" ? 4.0 : 2.0;
    const double weights = bytes_of_token(model_, 0.0, width);
    const double bytes =
        weights + static_cast<double>(texts) * (bytes_of_token(model_, past, width) - weights);
    benchmark::print_result("generate", name(way + " token"), timing,
                            {{"tokens_per_second", static_cast<double>(texts) / timing.seconds},
                             {"bytes_per_second", bytes / timing.seconds},
                             {"peak_fraction", bytes / timing.seconds / limit_.per_second},
                             {"cores", cores_.ranks().cores}},
                            {{"limit", limit_.name}});
  }

 private:
  std::string name(const std::string& what) const {
    return fmt::format("{} {} {} prompt={} threads={}", options_.model, options_.weights, what,
                       options_.prompt, cores_.ranks().threads);
  }
  const Options& options_;
  const benchmark::OwnCores& cores_;
  const ModelConfig& model_;
  benchmark::Limit limit_;
};

void time_generator(const Options& options, const std::string& file, const ModelConfig& model,
                    const Report& report) {
  Generator generator(CheckpointReader(file), options.prompt + options.tokens, MemorySpace::host);
  const auto prompt = random_tokens(options.prompt, 1, model);
  const auto one = benchmark::time_median([&] { generator.logits(prompt); });
  report.prompts("generator", 1, one);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < options.tokens; ++i)
    seconds.push_back(seconds_of(
        [&] { generator.logits_after(prompt[static_cast<std::size_t>(i) % prompt.size()]); }));
  report.steps("generator", 1, benchmark::timing_of(seconds));
}

// Steps until each text has its first token, then one step per token of all.
void time_engine(const Options& options, GridModel& model, std::int64_t texts,
                 const Report& report) {
  EngineOptions of;
  of.sequences = texts;
  PagedModel paged(model, of, cache_blocks_of(model, of, memory_left(model.grid())),
                   most_step_rows(model, of));
  PagedEngine engine(paged, of);
  for (std::int64_t i = 0; i < texts; ++i) {
    GenerationRequest request{.id = static_cast<std::uint64_t>(i)};
    request.prompt =
        random_tokens(options.prompt, static_cast<std::uint64_t>(i) + 1, model.model());
    request.choice.temperature = 0.0;
    request.max_tokens = options.tokens;
    engine.submit(request);
  }
  const std::string way = fmt::format("engine texts={}", texts);
  std::set<std::uint64_t> begun;  // texts with a token
  const double prompts = seconds_of([&] {
    while (std::ssize(begun) < texts)
      for (const GenerationOutput& output : engine.step()) begun.insert(output.id);
  });
  report.prompts(way, texts, benchmark::timing_of({prompts}));
  std::vector<double> seconds;
  while (engine.state().running == texts) seconds.push_back(seconds_of([&] { engine.step(); }));
  report.steps(way, texts, benchmark::timing_of(seconds));
}

void run(const Options& options) {
  const benchmark::OwnCores cores(options.threads);
  cores.require_one_rank();
  cores.print_machine();
  const ModelConfig& shape = benchmark::model_shapes().at(options.model);
  const RandomCheckpoint file(shape, options.directory);
  const Report report(options, cores, shape);
  if (options.weights == "f32") time_generator(options, file.path(), shape, report);
  ProcessGrid grid(MPI_COMM_SELF, {});
  const ModelFiles files(file.path(), grid);
  GridModel model(
      files.model(), grid, options.prompt + options.tokens,
      [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
        files.load(stream, config, store, grid);
      },
      held_weights(options.weights, files, SavedWeights::trained, grid.space(), true));
  for (const std::int64_t texts : options.texts) time_engine(options, model, texts, report);
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(&argc, &argv);
  Options options;
  CLI::App app{
      "Tokens a second of generation, of prompts and of tokens behind them: two JSON lines each "
      "for Generator (float32) and for every number of texts. Random weights, in a file that is "
      "removed at the end."};
  std::vector<std::string> names;
  for (const auto& [name, model] : benchmark::model_shapes()) names.push_back(name);
  app.add_option("--model", options.model, "Shape of the model")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--prompt", options.prompt, "Tokens of the prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tokens", options.tokens, "Tokens generated after the prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--weights", options.weights, "How the paged engine's weights are held")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  app.add_option("--texts", options.texts, "Texts at once, by the paged engine")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  benchmark::add_threads(app, options.threads);
  app.add_option("--directory", options.directory, "Directory of the checkpoint file")
      ->capture_default_str();
  if (const auto status = benchmark::refused(app, argc, argv, session.rank() == 0)) return *status;
  try {
    run(options);
    return 0;
  } catch (const UsageError& error) {
    if (session.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(3);
  }
}
