// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/adapter_weights.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/model/stage/stage.hpp"
#include "src/state/parameter_block.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// adapter_model.safetensors of the directory. PEFT's older .bin is a pickle, which runs code.
std::string weights_file(const std::string& directory) {
  const fs::path file = fs::path(directory) / adapter_weights_name;
  std::error_code ignored;
  if (fs::exists(file, ignored)) return file.string();
  if (fs::exists(fs::path(directory) / "adapter_model.bin", ignored))
    throw Error(directory + " has adapter_model.bin", "a pickle may run code, and is not read",
                "Save the adapter with PEFT's save_pretrained(safe_serialization=True)");
  throw Error(fmt::format("{} holds no adapter", directory),
              fmt::format("it has no {}", adapter_weights_name),
              "Name a folder that PEFT or triax wrote");
}

void require_finite(const SafetensorsReader& reader, const std::string& name,
                    std::int64_t elements) {
  std::vector<float> values(static_cast<std::size_t>(std::min(staged_elements, elements)));
  for (std::int64_t begin = 0; begin < elements; begin += staged_elements) {
    const std::int64_t count = std::min(staged_elements, elements - begin);
    reader.read(name, begin, Tensor(values.data(), {count}));
    if (!std::all_of(values.begin(), values.begin() + count,
                     [](float x) { return std::isfinite(x); }))
      throw Error(fmt::format("adapter tensor {} has a value that is not finite", name),
                  "its training failed", "Use an earlier adapter of that training");
  }
}

}  // namespace

AdapterWeights::AdapterWeights(const std::string& directory, const ModelConfig& model)
    : reader_(weights_file(directory)) {
  std::set<std::string> known;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    if (!tensor.adapter) continue;
    const std::string name = adapter_prefix + tensor.name;
    if (!reader_.contains(name))
      throw Error(fmt::format("{}: adapter tensor {} is missing", directory, name),
                  "adapter_config.json and the model ask for it",
                  "Check that adapter and base belong together");
    const Shape& shape = reader_.entry(name).shape;
    if (shape != tensor.shape)
      throw Error(fmt::format("{}: adapter tensor {} has shape {}", directory, name, shape.text()),
                  fmt::format("adapter_config.json and the model ask for {}", tensor.shape.text()),
                  "Check that adapter and base belong together");
    require_finite(reader_, name, shape.elements());
    known.insert(name);
  }
  for (const auto& [name, entry] : reader_.entries())
    if (!known.contains(name))
      throw Error(fmt::format("{}: adapter tensor {} has no place", directory, name),
                  "adapter_config.json gives the model no such adapter",
                  "Check that adapter and base belong together");
}

void AdapterWeights::read(const std::string& tensor, std::int64_t begin, const Tensor& out) const {
  reader_.read(adapter_prefix + tensor, begin, out);
}

}  // namespace triax
