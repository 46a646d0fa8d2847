// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/training_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/random/random.hpp"

namespace triax::benchmark {

ModelConfig gpt2(int layers, int hidden, int heads, int vocabulary) {
  ModelConfig model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kv_heads = heads;
  model.head_size = hidden / heads;
  model.intermediate = 4 * hidden;
  model.vocabulary = vocabulary;
  return model;
}

namespace {

// Llama 3's shapes: Grattafiori et al. 2024; the 1B model is Llama 3.2's.
ModelConfig llama(int layers, int hidden, int heads, int intermediate) {
  ModelConfig model = gpt2(layers, hidden, heads, 128256);
  model.architecture = "llama";
  model.kv_heads = 8;
  model.intermediate = intermediate;
  model.rope_theta = 500000.0;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = false;
  model.tied_embeddings = layers == 16;
  return model;
}

}  // namespace

const std::map<std::string, ModelConfig>& model_shapes() {
  static const std::map<std::string, ModelConfig> all = {
      {"gpt2-124m", gpt2(12, 768, 12, 50257)},  {"gpt2-350m", gpt2(24, 1024, 16, 50257)},
      {"gpt2-1.5b", gpt2(48, 1600, 25, 50257)}, {"llama-1b", llama(16, 2048, 32, 8192)},
      {"llama-8b", llama(32, 4096, 32, 14336)}, {"small", gpt2(6, 384, 6, 256)}};
  return all;
}

TokenShard::TokenShard(std::int64_t tokens, int vocabulary)
    : path_((std::filesystem::temp_directory_path() / "triax-step-XXXXXX").string()) {
  const int made = ::mkstemp(
      path_.data());  // a unique name; process numbers repeat where containers share the directory
  if (made >= 0) ::close(made);
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = static_cast<std::int32_t>(tokens);
  std::vector<std::uint16_t> data;
  for (std::int64_t i = 0; i < tokens; ++i)
    data.push_back(
        static_cast<std::uint16_t>(philox(1, static_cast<std::uint64_t>(i))[0] %
                                   static_cast<std::uint32_t>(std::min(vocabulary, 65536))));
  std::ofstream file(path_, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.data()),
             static_cast<std::streamsize>(header.size() * sizeof(header[0])));
  file.write(reinterpret_cast<const char*>(data.data()),
             static_cast<std::streamsize>(data.size() * sizeof(data[0])));
  if (made < 0 || !file.flush())
    throw Error(path_ + " cannot be written", "", "Set TMPDIR to a directory with room");
}

TokenShard::~TokenShard() {
  std::filesystem::remove(path_);
}

}  // namespace triax::benchmark
