// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/huggingface_import.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/tensor_pieces.hpp"
#include "io/files/mapped_file.hpp"
#include "io/hub/hub_directory.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/huggingface/convert_weights.hpp"
#include "src/launch/output_target.hpp"
#include "src/state/weights/huggingface_weights.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

ModelConfig read_config(const std::string& directory, std::vector<std::string>& warnings) {
  const MappedFile file((std::filesystem::path(directory) / "config.json").string());
  const auto* const text = reinterpret_cast<const char*>(file.data());
  return model_from_huggingface({text, file.size()}, file.path(), &warnings);
}

void write_tensor(CheckpointWriter& writer, const HuggingfaceWeights& weights,
                  const GlobalTensor& tensor, DType type) {
  std::vector<float> read;
  std::vector<std::uint16_t> rounded;
  for (std::int64_t begin = 0; begin < tensor.shape.elements(); begin += piece_elements) {
    const std::int64_t end = std::min(begin + piece_elements, tensor.shape.elements());
    const std::int64_t count = end - begin;
    read.resize(static_cast<std::size_t>(count));
    const Tensor values(read.data(), {count});
    weights.read(tensor.name, begin, values);
    rounded.resize(type == DType::f32 ? 0 : static_cast<std::size_t>(count));
    const Tensor out =
        type == DType::f32 ? values : Tensor(static_cast<void*>(rounded.data()), type, {count});
    if (type != DType::f32) convert_weights(tensor.name, out, values);
    writer.write(weight_group + tensor.name, hdf5::flat_range_boxes(tensor.shape, begin, end), out);
  }
}

// The directory's tokenizer. One that triax does not read is a warning: the weights are of use.
RunTokenizer read_tokenizer(const std::string& directory, std::vector<std::string>& warnings) {
  try {
    return run_tokenizer(named_tokenizer_files(directory));
  } catch (const Error& error) {
    warnings.push_back(fmt::format("the checkpoint has no tokenizer: {}", error.what()));
    return {};
  }
}

}  // namespace

ImportSummary import_huggingface(const std::string& named, const std::string& file,
                                 const ImportOptions& options) {
  const std::string directory = hub_snapshot(named);
  const OutputTarget target(file, OutputTarget::Kind::file);
  // A dangling link counts as an existing file.
  if (!options.replace && std::filesystem::exists(std::filesystem::symlink_status(file)))
    throw UsageError(fmt::format("{} is there already", file), {}, "Give another name, or --force");
  std::vector<std::string> warnings;
  const ModelConfig model = read_config(directory, warnings);
  const HuggingfaceWeights weights(directory, model);
  ImportSummary sum{.type = options.type.value_or(weights.type()), .warnings = warnings};
  for (std::string& line : weights.names().warnings(directory))
    sum.warnings.push_back(std::move(line));
  const RunTokenizer tokenizer = read_tokenizer(directory, sum.warnings);
  std::vector<CheckpointTensor> tensors;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    tensors.push_back({weight_group + tensor.name, sum.type, tensor.shape});
    sum.bytes += tensor.shape.elements() * static_cast<std::int64_t>(size_of(sum.type));
  }
  sum.tensors = std::ssize(tensors);
  sum.tokenizer = tokenizer.format;
  tensors.insert(tensors.end(), tokenizer.datasets.begin(), tokenizer.datasets.end());
  CheckpointHeader header;
  header.job = header.grid = "{}";
  header.model = huggingface_config(model);
  header.version = version;
  const Existing existing = options.replace ? Existing::replaced : Existing::kept;
  CheckpointWriter writer(file, MPI_COMM_NULL, {.existing = existing});
  writer.create(header, tensors);
  for (const GlobalTensor& tensor : global_tensors(model))
    write_tensor(writer, weights, tensor, sum.type);
  write_tokenizer(tokenizer, MPI_COMM_NULL, writer);
  if (const std::string unsafe = writer.publish(); !unsafe.empty()) spdlog::warn("{}", unsafe);
  return sum;
}

}  // namespace triax
