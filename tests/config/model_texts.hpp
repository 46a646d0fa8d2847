// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts of a config.json for tests, and the models they describe.
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/config/model/huggingface.hpp"

namespace triax::testing_support {

/// The text, completed by Hugging Face's defaults of the sizes that every config.json has. Line
/// numbers do not change.
inline std::string with_sizes(std::string text) {
  if (text.find("\"model_type\"") == std::string::npos &&
      text.find("\"architectures\"") == std::string::npos)
    return text;
  const bool qwen2 = text.find("wen2") != std::string::npos;
  using Size = std::pair<const char*, int>;
  const bool gpt2 =
      text.find("gpt2") != std::string::npos || text.find("GPT2") != std::string::npos;
  const auto sizes = gpt2 ? std::vector<Size>{{"n_layer", 12},
                                              {"n_head", 12},
                                              {"n_embd", 768},
                                              {"vocab_size", 50257}}
                          : std::vector<Size>{{"num_hidden_layers", 32},
                                              {"num_attention_heads", 32},
                                              {"hidden_size", 4096},
                                              {"vocab_size", qwen2 ? 151936 : 32000}};
  for (const auto& [key, size] : sizes)
    if (const std::string quoted = fmt::format("\"{}\"", key);
        text.find(quoted) == std::string::npos)
      text.insert(text.find('{') + 1, fmt::format("{}: {}, ", quoted, size));
  return text;
}

/// Model of a text, completed by with_sizes.
inline ModelConfig model(const std::string& text) {
  return model_from_huggingface(with_sizes(text), "config.json");
}

/// Error of that model; "" if there is none.
inline std::string model_error(const std::string& text) {
  try {
    model(text);
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

}  // namespace triax::testing_support
