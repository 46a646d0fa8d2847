// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages of a model for all coordinates of a tensor x pipeline grid, in one process.
#include <algorithm>
#include <memory>
#include <vector>

#include "src/config/model/huggingface.hpp"
#include "src/state/parameters/parameter_store.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {

inline ModelConfig golden_model(const std::string& name) {
  return model_from_huggingface(contents(read_golden(name).directory + "/config.json"), name);
}

/// A shape that tensor sizes 1, 2, 3, 4, 6 and 12 divide; key/value heads belong to one rank each,
/// or are shared by 2 or 3.
inline ModelConfig divisible_model(const std::string& architecture, bool tied) {
  ModelConfig model;
  model.architecture = architecture;
  model.layers = 3;
  model.heads = 12;
  model.kv_heads = architecture == "gpt2" ? 12 : architecture == "llama" ? 6 : 2;
  model.head_size = 4;
  model.hidden = 48;
  model.intermediate = 50;
  model.positions = 20;
  model.vocabulary = 37;
  model.tied_embeddings = tied;
  model.qkv_bias = architecture != "llama";
  model.attention_output_bias = model.mlp_bias = architecture == "gpt2";
  return model;
}

/// True if the tensor size divides the key/value heads, or they divide it.
inline bool carries_heads(const ModelConfig& model, int tensor) {
  return model.heads % tensor == 0 &&
         (model.kv_heads % tensor == 0 || tensor % model.kv_heads == 0);
}

struct GridOfStages {
  int tensor = 1, pipeline = 1, chunks = 1;
  bool sequence_parallel = true;
};

inline std::vector<std::unique_ptr<Stage>> stages_of(const ModelConfig& model,
                                                     const GridOfStages& grid) {
  std::vector<std::unique_ptr<Stage>> stages;
  for (int stage = 0; stage < grid.pipeline; ++stage)
    for (int rank = 0; rank < grid.tensor; ++rank)
      stages.push_back(std::make_unique<Stage>(
          model,
          StagePlace{
              grid.pipeline, stage, grid.chunks, {grid.tensor, rank, grid.sequence_parallel}},
          16));
  return stages;
}

/// Calls visit(model, grid) for the models and grids that the tests of this folder run through.
template <class Visit>
void for_each_grid(Visit&& visit) {
  for (const std::string architecture : {"gpt2", "llama", "qwen2"})
    for (const bool tied : {false, true}) {
      const ModelConfig model = divisible_model(architecture, tied);
      for (const int tensor : {1, 2, 3, 4, 6, 12})
        for (const int pipeline : {1, 2, 3}) {
          if (!carries_heads(model, tensor)) continue;
          SCOPED_TRACE(fmt::format("architecture {}, tied {}, tensor {}, pipeline {}", architecture,
                                   tied, tensor, pipeline));
          visit(model, GridOfStages{tensor, pipeline, pipeline == 1 ? 3 : 1, tensor != 3});
        }
    }
}

}  // namespace triax::test
