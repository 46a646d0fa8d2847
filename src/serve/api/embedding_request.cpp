// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/embedding_request.hpp"

#include "src/serve/api/api_error.hpp"
#include "src/serve/api/completion_request.hpp"

namespace triax {

EmbeddingCall read_embeddings(const nlohmann::ordered_json& body, const ServedModel& model) {
  const Fields fields(body);
  check_model_name(fields, model);
  fields.refuse({"dimensions"});
  EmbeddingCall embeddings;
  const std::string format = fields.text("encoding_format", "float");
  if (format != "float" && format != "base64")
    throw bad_request("'encoding_format' must be \"float\" or \"base64\"", "encoding_format");
  embeddings.base64 = format == "base64";
  const std::string pooling = fields.text("pooling", "mean");
  if (pooling != "mean" && pooling != "last")
    throw bad_request("'pooling' must be \"mean\" or \"last\"", "pooling");
  GenerationOptions& options = embeddings.call.options;
  options.pooling = pooling == "mean" ? Pooling::mean : Pooling::last;
  options.max_tokens = 0;
  embeddings.call.prompts = read_prompts(fields, "input", model);
  fit_prompts(fields, model, embeddings.call);
  return embeddings;
}

}  // namespace triax
