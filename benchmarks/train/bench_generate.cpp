// SPDX-License-Identifier: Apache-2.0
// Tokens per second of generation in float32, by a model with random weights from a checkpoint that
// is written and removed. Prints one JSON line for the prompt (all of its tokens together) and one
// for the tokens after it. A token reads every weight, and the cached keys and values of the tokens
// before it, once: peak_fraction compares these bytes with the cores' triad.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
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
#include "src/inference/generate.hpp"

namespace {

using namespace triax;

struct Options {
  std::string model = "gpt2-124m";
  std::int64_t prompt = 512, tokens = 64;
  int threads = 0;  // for OwnCores
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

// Bytes that a token reads with `past` tokens before it: one row of the embedding, but all of the
// head.
double bytes_of_token(const ModelConfig& model, double past) {
  const double embeddings = model.tied_embeddings ? 0.0 : double(model.vocabulary) * model.hidden;
  const double positions =
      model.architecture == "gpt2" ? double(model.positions) * model.hidden : 0.0;
  const double weights = count_parameters(model) - embeddings - positions;
  const double kept = past * 2.0 * model.layers * model.kv_heads * model.head_size;
  return sizeof(float) * (weights + kept);
}

void run(const Options& options) {
  const benchmark::OwnCores cores(options.threads);
  cores.require_one_rank();
  cores.print_machine();
  const benchmark::Place place(MemorySpace::host, cores.ranks());
  const ModelConfig& model = benchmark::model_shapes().at(options.model);
  const RandomCheckpoint file(model, options.directory);
  Generator generator(CheckpointReader(file.path()), options.prompt + options.tokens,
                      MemorySpace::host);
  std::vector<std::int32_t> prompt;
  for (std::int64_t i = 0; i < options.prompt; ++i)
    prompt.push_back(static_cast<std::int32_t>(philox(1, static_cast<std::uint64_t>(i))[0] %
                                               static_cast<std::uint32_t>(model.vocabulary)));
  const auto name = [&](const char* what) {
    return fmt::format("{} {} prompt={} threads={}", options.model, what, options.prompt,
                       cores.ranks().threads);
  };
  const benchmark::Timing first = benchmark::time_median([&] { generator.logits(prompt); });
  benchmark::print_result(
      "generate", name("prompt"), first,
      {{"tokens_per_second", static_cast<double>(options.prompt) / first.seconds},
       {"cores", cores.ranks().cores}});
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < options.tokens; ++i)
    seconds.push_back(seconds_of(
        [&] { generator.logits_after(prompt[static_cast<std::size_t>(i) % prompt.size()]); }));
  const benchmark::Timing each = benchmark::timing_of(seconds);
  const double bytes = bytes_of_token(
      model, static_cast<double>(options.prompt) + static_cast<double>(options.tokens) / 2);
  const benchmark::Limit limit = place.memory_bandwidth();
  benchmark::print_result("generate", name("token"), each,
                          {{"tokens_per_second", 1.0 / each.seconds},
                           {"bytes_per_second", bytes / each.seconds},
                           {"peak_fraction", bytes / each.seconds / limit.per_second},
                           {"cores", cores.ranks().cores}},
                          {{"limit", limit.name}});
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(&argc, &argv);
  Options options;
  CLI::App app{
      "Tokens a second of generation in float32, of the prompt and of tokens behind it: two JSON "
      "lines. Random weights, in a file that is removed at the end."};
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
