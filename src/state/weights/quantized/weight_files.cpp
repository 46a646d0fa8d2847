// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/weight_files.hpp"

#include "kernels/base/check.hpp"
#include "src/state/weights/quantized/bitsandbytes.hpp"
#include "src/state/weights/quantized/packed_words.hpp"
#include "src/state/weights/quantized/quantize_box.hpp"
#include "src/state/weights/quantized/tensor_bytes.hpp"

namespace triax {
namespace {

// A tensor that only quantized weights have; empty: there is none.
std::string trace_of_quantization(const SafetensorsReader& reader) {
  for (const std::string& name : reader.names())
    if (name.ends_with(row_absmax_suffix) || name.ends_with(".qweight") ||
        name.find(quant_state_suffix) != name.npos)
      return name;
  return {};
}

QuantizedTensors find_quantized(const SafetensorsReader& reader, const std::string& directory,
                                const Quantization& quantization) {
  switch (quantization.method) {
    case QuantMethod::bitsandbytes:
      return find_bitsandbytes(reader, quantization);
    case QuantMethod::gptq:
      return find_gptq(reader, quantization);
    case QuantMethod::awq:
      return find_awq(reader, quantization);
    case QuantMethod::none:
      break;
  }
  if (const std::string trace = trace_of_quantization(reader); !trace.empty())
    throw UsageError(fmt::format("{} has quantized weights ({})", directory, trace),
                     "its config.json has no quantization_config",
                     "Fetch the config.json that belongs to the weights");
  return {};
}

}  // namespace

WeightFiles::WeightFiles(const std::string& directory, bool transposed)
    : reader_(directory),
      quantization_(read_quantization(directory)),
      transposed_(transposed),
      quantized_(find_quantized(reader_, directory, quantization_)) {
  if (quantization_.method != QuantMethod::none && quantized_.matrices.empty())
    throw UsageError(fmt::format("{} has no quantized weights", directory),
                     fmt::format("{} says that it has", quantization_.source),
                     "Fetch the config.json that belongs to the weights");
  for (const auto& [name, entry] : reader_.entries())
    if (!quantized_.parts.contains(name)) entries_.emplace(name, entry);
  for (const auto& [name, matrix] : quantized_.matrices) {
    if (entries_.contains(name))
      refuse_quantized(name, "the files have it quantized and as it was",
                       "which of them is meant is unknown");
    const std::int64_t rows = matrix->outputs(), columns = matrix->inputs();
    entries_.emplace(name, SafetensorsEntry{matrix->type(), transposed ? Shape{columns, rows}
                                                                       : Shape{rows, columns}});
  }
}

const SafetensorsEntry& WeightFiles::entry(const std::string& name) const {
  const auto found = quantized_.matrices.find(name);
  return found == quantized_.matrices.end() ? reader_.entry(name) : entries_.at(name);
}

void WeightFiles::read(const std::string& name, std::int64_t begin, const Tensor& out) const {
  const auto found = quantized_.matrices.find(name);
  if (found == quantized_.matrices.end()) return reader_.read(name, begin, out);
  read_elements(*found->second, transposed_, begin, out);
}

void WeightFiles::read_box(const std::string& name, const PackedBox& box,
                           const PackedParts& parts) const {
  const auto found = quantized_.matrices.find(name);
  if (found != quantized_.matrices.end()) return found->second->read_box(box, parts);
  FlatMatrix matrix(name, reader_.entry(name).shape, transposed_,
                    [&](std::int64_t begin, const Tensor& out) { reader_.read(name, begin, out); });
  quantize_box(box, parts, matrix);
}

}  // namespace triax
