// SPDX-License-Identifier: Apache-2.0
#pragma once
// A directory with a small model, data and Axolotl files for one test.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/axolotl/translate.hpp"
#include "tests/config/job_files.hpp"

namespace triax::testing_support {

class AxolotlFiles : public JobFiles {
 protected:
  void SetUp() override {
    JobFiles::SetUp();
    write("hf/config.json", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16,
        "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 300,
        "max_position_embeddings": 4096})");
    write("hf/tokenizer_config.json",
          R"({"eos_token": "</s>", "bos_token": {"content": "<s>", "special": true}})");
    write("hf/model.safetensors", "x");
    write("chat.jsonl", R"({"messages": [{"role": "user", "content": "a"}]})");
    write("template.jinja", "{{ messages }}");
  }
  /// An Axolotl file with what must be there, and `more` lines. A `more` that begins with
  /// "datasets" brings its own.
  std::string file(const std::string& more = {}) const {
    std::string text = "base_model: hf\nlearning_rate: 1e-4\n";
    if (!more.starts_with("datasets:") && more.find("\ndatasets:") == more.npos)
      text += "datasets:\n  - path: chat.jsonl\n    type: chat_template\n";
    return write("config.yml", text + more);
  }
  /// The keys of the job that the lines stand for.
  nlohmann::json job_of(const std::string& more, std::vector<std::string>* notes = nullptr) const {
    std::vector<std::string> unused;
    const std::string path = file(more);
    return axolotl_job(read_text(path), path, notes != nullptr ? *notes : unused).root;
  }
  /// The error without the test's directory; "": none.
  std::string refusal(const std::string& more) const {
    try {
      job_of(more);
    } catch (const UsageError& error) {
      std::string text = error.what();
      const auto prefix = path("");
      for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix))
        text.erase(at, prefix.size());
      return text;
    }
    return {};
  }
};

}  // namespace triax::testing_support
