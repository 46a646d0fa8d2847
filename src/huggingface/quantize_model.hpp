// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model directory with the linear maps of its blocks in 4 or 8 bits, for transformers with
// bitsandbytes, and as a base of adapters.
#include <string>
#include <vector>

#include "src/huggingface/model_directory.hpp"

namespace triax {

/// Names of the formats: nf4, nf4-double, fp4, fp4-double, int8. "double": double quantization.
std::vector<std::string> quantized_formats();

struct QuantizeSummary {
  ExportSummary files;
  std::int64_t quantized = 0;     // tensors
  std::int64_t bytes_before = 0;  // of all tensors, in the type of the files
};

/// Writes the model in `directory` to `out` with the weights of the linear maps of its blocks in
/// `format`, as bitsandbytes makes them on a CPU; embeddings, head, norms and biases stay in the
/// files' type (a common 16-bit type, else float32). The ranks share the files; each holds pieces
/// of one tensor, of a GPT-2 map the whole. options.type and verify are not used. UsageError if the
/// model is quantized already; Error for a value that is not finite, and the errors of
/// export_huggingface. Collective.
QuantizeSummary quantize_model(const std::string& directory, const std::string& format,
                               const std::string& out, const ExportOptions& options,
                               const Ranks& ranks);

}  // namespace triax
