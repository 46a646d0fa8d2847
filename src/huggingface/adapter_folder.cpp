// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/adapter_folder.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "io/files/durable.hpp"
#include "io/safetensors/safetensors_writer.hpp"
#include "kernels/activation/elementwise.hpp"
#include "kernels/base/check.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/config/lora/lora.hpp"
#include "src/huggingface/convert_weights.hpp"
#include "src/launch/output_target.hpp"
#include "src/model/stage/stage.hpp"
#include "src/state/parameter_block.hpp"
#include "src/state/weights/adapter_weights.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

std::vector<GlobalTensor> adapter_tensors(const ModelConfig& model) {
  std::vector<GlobalTensor> tensors = global_tensors(model);
  std::erase_if(tensors, [](const GlobalTensor& tensor) { return !tensor.adapter; });
  return tensors;
}

void require_finite(const std::string& tensor, const std::vector<float>& values) {
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); }))
    throw Error(fmt::format("adapter tensor {} has a value that is not finite", tensor),
                "the training failed before this checkpoint",
                "Use an earlier checkpoint of the run");
}

// UsageError if an adapter may not be written to the directory.
void require_room_for_adapter(const std::string& directory, bool replace) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name == "config.json" || name.starts_with("model"))
      throw UsageError(fmt::format("{} holds a model", directory),
                       fmt::format("there is {}, and readers would put the adapter on it", name),
                       "Give another directory");
    if (!replace && (name == adapter_config_name || name == adapter_weights_name))
      throw UsageError(fmt::format("{} holds an adapter", directory),
                       fmt::format("there is {}", name), "Give another directory, or --force");
  }
}

void write_range(SafetensorsWriter& writer, const std::string& tensor, std::int64_t begin,
                 std::int64_t count, DType type, const ReadAdapter& read) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const Tensor wide(values.data(), {count});
  read(tensor, begin, wide);
  require_finite(tensor, values);
  const std::string name = adapter_prefix + tensor;
  if (type == DType::f32) return writer.write(name, begin, wide);
  std::vector<std::byte> rounded(values.size() * size_of(type));
  const Tensor out(static_cast<void*>(rounded.data()), type, {count});
  convert_weights(tensor, out, wide);
  writer.write(name, begin, out);
}

// Writes both files on this rank alone. The configuration comes last.
AdapterSummary write_adapter(const ModelConfig& model, const ReadAdapter& read,
                             const std::string& directory, const ExportOptions& options) {
  AdapterSummary sum{.type = options.type.value_or(DType::f32)};
  std::vector<SafetensorsTensor> tensors;
  for (const GlobalTensor& tensor : adapter_tensors(model)) {
    tensors.push_back({adapter_prefix + tensor.name, sum.type, tensor.shape});
    sum.bytes += tensors.back().bytes();
  }
  sum.tensors = std::ssize(tensors);
  SafetensorsWriter writer((fs::path(directory) / adapter_weights_name).string(), tensors);
  for (const GlobalTensor& tensor : adapter_tensors(model)) {
    const std::int64_t elements = tensor.shape.elements();
    for (std::int64_t begin = 0; begin < elements; begin += staged_elements)
      write_range(writer, tensor.name, begin, std::min(staged_elements, elements - begin), sum.type,
                  read);
  }
  fs::remove(fs::path(directory) / adapter_config_name);
  writer.publish(options.replace ? Existing::replaced : Existing::kept);
  write_durably((fs::path(directory) / adapter_config_name).string(),
                adapter_config(model, model.weights));
  return sum;
}

}  // namespace

ReadAdapter adapter_of_checkpoint(const CheckpointReader& reader, const std::string& checkpoint,
                                  const ModelConfig& model, SavedWeights weights) {
  const auto group_of = [&reader, weights](const std::string& tensor) {
    if (weights == SavedWeights::average && reader.contains(average_group + tensor))
      return average_group;
    return reader.contains(master_group + tensor) ? master_group : weight_group;
  };
  for (const GlobalTensor& tensor : adapter_tensors(model)) {
    const std::string name = group_of(tensor.name) + tensor.name;
    if (!reader.contains(name) || reader.shape(name) != tensor.shape)
      throw Error(
          fmt::format("{} has no tensor {} of shape {}", checkpoint, name, tensor.shape.text()),
          "its attribute `adapter` asks for one", "Use another checkpoint of the run");
  }
  return [&reader, group_of](const std::string& tensor, std::int64_t begin, const Tensor& out) {
    const std::string name = group_of(tensor) + tensor;
    const auto boxes = hdf5::flat_range_boxes(reader.shape(name), begin, begin + out.elements());
    const DType type = reader.tensor(name).dtype;
    const Tensor flat = out.flat();
    if (type == DType::f32) return reader.read(name, boxes, flat);
    std::vector<std::byte> stored(static_cast<std::size_t>(out.elements()) * size_of(type));
    const Tensor from(static_cast<void*>(stored.data()), type, {out.elements()});
    reader.read(name, boxes, from);
    convert(Stream{}, flat, from);
  };
}

ReadAdapter adapter_of_folder(const std::string& directory, const ModelConfig& model) {
  const auto weights = std::make_shared<AdapterWeights>(directory, model);
  return [weights](const std::string& tensor, std::int64_t begin, const Tensor& out) {
    weights->read(tensor, begin, out.flat());
  };
}

AdapterSummary export_adapter(const std::string& checkpoint, const std::string& directory,
                              const ExportOptions& options, const Ranks& ranks) {
  std::optional<OutputTarget> target;  // rank 0's
  agreed(ranks, [&] {
    if (ranks.rank != 0) return;
    target.emplace(directory, OutputTarget::Kind::directory);
    require_room_for_adapter(directory, options.replace);
  });
  const CheckpointReader reader(checkpoint, ranks);
  agreed(ranks, [&] {
    if (!holds_adapters(reader.header()))
      throw UsageError(checkpoint + " holds a whole model", "its run had no section lora",
                       "Export it with --to huggingface");
    if (options.weights == SavedWeights::average) require_average(reader);
  });
  AdapterSummary sum;
  bool verified = false;
  if (options.verify) verified = require_whole(checkpoint, ranks, weight_group);
  agreed(ranks, [&] {
    if (ranks.rank != 0) return;
    const ModelConfig model = model_of(reader.header());
    sum = write_adapter(model, adapter_of_checkpoint(reader, checkpoint, model, options.weights),
                        directory, options);
  });
  sum.verified = verified;
  return sum;
}

}  // namespace triax
