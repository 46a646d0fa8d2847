#pragma once
// Texts of a config.json for tests, and what becomes of them.
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/config/model/huggingface.hpp"

namespace triax::testing_support {

/// The text with the sizes that every config.json has, Hugging Face's defaults, where it does not
/// say them. Lines stay as they are.
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

/// Of a text of any sizes.
inline ModelConfig model(const std::string& text) {
  return model_from_huggingface(with_sizes(text), "config.json");
}

/// "" where there is none.
inline std::string model_error(const std::string& text) {
  try {
    model(text);
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

}  // namespace triax::testing_support
