// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/token_requests.hpp"

#include "src/serve/api/api_error.hpp"
#include "src/serve/api/chat_request.hpp"

namespace triax {

using nlohmann::ordered_json;

ordered_json tokenize_reply(const nlohmann::ordered_json& body, const ServedModel& model) {
  const Fields fields(body);
  check_model_name(fields, model);
  const bool chat = fields.find("messages") != nullptr;
  if (!chat && fields.find("prompt") == nullptr) throw bad_request("'prompt' is missing", "prompt");
  const auto ids =
      chat ? chat_prompt(fields, model)
           : encode(model, fields.text("prompt", ""), fields.flag("add_special_tokens", true));
  ordered_json reply = {{"count", ids.size()}, {"max_model_len", model.context}, {"tokens", ids}};
  if (!fields.flag("return_token_strs", false)) return reply;
  reply["token_strs"] = ordered_json::array();
  for (const std::int32_t id : ids) reply["token_strs"].push_back(model.tokenizer->token(id));
  return reply;
}

ordered_json detokenize_reply(const nlohmann::ordered_json& body, const ServedModel& model) {
  const Fields fields(body);
  check_model_name(fields, model);
  if (fields.find("tokens") == nullptr) throw bad_request("'tokens' is missing", "tokens");
  const std::int64_t known =
      std::min<std::int64_t>(model.vocabulary, model.tokenizer->vocabulary());
  return {{"prompt", model.tokenizer->decode(fields.tokens("tokens", known), false)}};
}

}  // namespace triax
