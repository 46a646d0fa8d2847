// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/score_request.hpp"

#include <algorithm>

#include "src/serve/api/api_error.hpp"
#include "src/serve/api/chat_request.hpp"

namespace triax {
namespace {

using Tokens = std::vector<std::int32_t>;

GenerationOptions score_options(const Fields& fields, const ServedModel& model) {
  fields.refuse({"stream", "echo", "truncate_prompt_tokens"});
  GenerationOptions options =
      read_options(fields, model, {"max_completion_tokens", "max_tokens"}, 0);
  if (options.answers != 1) throw bad_request("'n' must be 1 with 'score'", "n");
  options.max_tokens = options.min_tokens = 0;
  options.log_probabilities = 1;  // the likeliest token, too
  options.echo = true;
  options.skip_special_tokens = false;
  return options;
}

}  // namespace

bool asks_for_scores(const nlohmann::ordered_json& body) {
  return body.is_object() && body.contains("score") && !body["score"].is_null();
}

ScoreCall read_scores(const nlohmann::ordered_json& body, const ServedModel& model, bool chat) {
  const Fields fields(body);
  check_model_name(fields, model);
  ScoreCall scores;
  scores.call.options = score_options(fields, model);
  const std::string prompt = chat ? std::string() : fields.text("prompt", "");
  const bool special = fields.flag("add_special_tokens", true);
  const Tokens before = chat ? chat_prompt(fields, model) : encode(model, prompt, special);
  const auto answers = fields.texts("score", static_cast<std::size_t>(model.most_answers));
  if (answers.empty()) throw bad_request("'score' is an empty list", "score");
  for (const std::string& answer : answers) {
    Tokens whole = chat ? before : encode(model, prompt + answer, special);
    if (chat) std::ranges::copy(encode(model, answer, false), std::back_inserter(whole));
    const auto end = std::ranges::mismatch(whole, before).in1;
    const auto begin = static_cast<std::size_t>(end - whole.begin());
    if (begin == 0)
      throw bad_request(
          "no token comes before the answer, and this model has none that begins a text", "prompt");
    if (begin == whole.size())
      throw bad_request("an answer of 'score' adds no token to the prompt", "score");
    scores.answered.push_back(begin);
    scores.call.prompts.push_back(std::move(whole));
  }
  fit_prompts(fields, model, scores.call);
  return scores;
}

}  // namespace triax
