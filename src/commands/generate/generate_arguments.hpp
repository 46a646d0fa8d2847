// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of triax generate.
#include <string>
#include <vector>

#include "src/inference/sampling/token_choice.hpp"

namespace triax {

struct GenerateArguments {
  std::string model;
  std::vector<std::string> prompts;
  std::string prompts_file;  // one prompt per line; empty: none
  std::string tokenizer;     // empty: the model's
  std::vector<std::string> stops;
  bool ignore_end = false, json = false;
  TokenChoice choice = {.seed = 1234};
  std::int64_t max_tokens = 200, min_tokens = 0;
  std::string device = "auto", weights = "trained";
  std::vector<std::string> overrides;  // KEY=VALUE
};

}  // namespace triax
