#include "benchmarks/support/training_job.hpp"

#include <unistd.h>

#include <fstream>
#include <vector>

#include "kernels/random.hpp"

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

TokenShard::TokenShard(std::int64_t tokens, int vocabulary)
    : path_(std::filesystem::temp_directory_path() /
            ("triax-step-" + std::to_string(getpid()) + ".bin")) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = static_cast<std::int32_t>(tokens);
  std::vector<std::uint16_t> data;
  for (std::int64_t i = 0; i < tokens; ++i)
    data.push_back(static_cast<std::uint16_t>(philox(1, static_cast<std::uint64_t>(i))[0] %
                                              static_cast<std::uint32_t>(vocabulary)));
  std::ofstream file(path_, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.data()),
             static_cast<std::streamsize>(header.size() * sizeof(header[0])));
  file.write(reinterpret_cast<const char*>(data.data()),
             static_cast<std::streamsize>(data.size() * sizeof(data[0])));
}

TokenShard::~TokenShard() {
  std::filesystem::remove(path_);
}

}  // namespace triax::benchmark
