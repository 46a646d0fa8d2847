// SPDX-License-Identifier: Apache-2.0
#include "src/serve/generation/asked_text.hpp"

#include "src/serve/api/chat_request.hpp"
#include "src/serve/api/completion_request.hpp"
#include "src/serve/api/embedding_request.hpp"
#include "src/serve/api/score_request.hpp"

namespace triax {

AskedText read_asked(const std::string& route, const nlohmann::ordered_json& body,
                     const ServedModel& model) {
  if (route == "/v1/embeddings") {
    EmbeddingCall embeddings = read_embeddings(body, model);
    const Pooling pooling = embeddings.call.options.pooling;
    return {std::move(embeddings.call), embedding_format(pooling, embeddings.base64)};
  }
  const bool chat = route == "/v1/chat/completions";
  if (asks_for_scores(body)) {
    ScoreCall scores = read_scores(body, model, chat);
    return {std::move(scores.call), score_format(std::move(scores.answered), chat)};
  }
  GenerationCall call = chat ? read_chat(body, model) : read_completion(body, model);
  const bool log_probabilities = call.options.log_probabilities >= 0;
  return {std::move(call),
          chat ? chat_format(log_probabilities) : completion_format(log_probabilities)};
}

}  // namespace triax
