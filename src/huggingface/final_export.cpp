// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/final_export.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/huggingface/huggingface_export.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

// Removes the file `path` in its destructor if `mine`.
struct Removed {
  std::string path;
  bool mine;
  ~Removed() {
    std::error_code ignored;
    if (mine && !path.empty()) std::filesystem::remove(path, ignored);
  }
};

void save_weights(const Stream& stream, const std::string& path, const Config& config,
                  ParameterStore& store, const ProcessGrid& grid, const RunTokenizer& tokenizer) {
  CheckpointHeader header;
  header.step = config.run.steps;
  header.job = header.grid = "{}";
  header.model = huggingface_config(config.model);
  header.version = version;
  if (config.model.lora)
    header.adapter = adapter_text(config.model, base_fingerprint(config.model.weights));
  save_checkpoint(stream, path, header, config.model, store, nullptr, grid, {}, &tokenizer);
}

}  // namespace

void export_at_end(const Stream& stream, const Config& config, const std::string& checkpoint,
                   ParameterStore& store, const ProcessGrid& grid, const RunTokenizer& tokenizer) {
  const std::filesystem::path run = config.run.directory;
  const std::string directory = (run / "huggingface").string();
  const std::string weights = checkpoint.empty() ? (run / "huggingface.h5").string() : "";
  const Removed temporary{weights, grid.rank() == 0};
  if (!weights.empty()) save_weights(stream, weights, config, store, grid, tokenizer);
  const bool wide = config.precision.type == DType::f32;
  const ExportOptions options{.type = wide ? DType::bf16 : config.precision.type, .replace = true};
  const ExportSummary sum =
      export_huggingface(checkpoint.empty() ? weights : checkpoint, directory, options, grid);
  if (grid.rank() == 0)
    spdlog::info("weights for Hugging Face in {}: {} tensors, {}{}", directory, sum.tensors,
                 name_of(sum.type), wide ? " (rounded: the training was in f32)" : "");
}

}  // namespace triax
