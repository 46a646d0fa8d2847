// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/completion_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/serve/api/api_error.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t usual_tokens = 16;  // OpenAI's default of max_tokens

// Prompts of a list: one of token ids, or several, each a text or a list of ids.
std::vector<std::vector<std::int32_t>> read_list(const json& list, const std::string& name,
                                                 bool special, const ServedModel& model) {
  if (list.empty()) throw bad_request(fmt::format("'{}' is an empty list", name), name);
  if (list.front().is_number()) return {token_list(list, name, model.vocabulary)};
  if (std::ssize(list) > model.most_answers)
    throw bad_request(fmt::format("'{}' has {} texts; this server allows {} (serve.answers)", name,
                                  list.size(), model.most_answers),
                      name);
  std::vector<std::vector<std::int32_t>> prompts;
  for (const json& one : list) {
    if (one.is_string())
      prompts.push_back(encode(model, one.get<std::string>(), special));
    else if (one.is_array())
      prompts.push_back(token_list(one, name, model.vocabulary));
    else
      throw bad_request(
          fmt::format("'{}' must be a string, or a list of strings or token ids", name), name);
  }
  return prompts;
}

}  // namespace

std::vector<std::vector<std::int32_t>> read_prompts(const Fields& fields, const std::string& name,
                                                    const ServedModel& model) {
  const json* prompt = fields.find(name);
  if (prompt == nullptr) throw bad_request(fmt::format("'{}' is missing", name), name);
  const bool special = fields.flag("add_special_tokens", true);
  if (prompt->is_string()) return {encode(model, prompt->get<std::string>(), special)};
  if (prompt->is_array()) return read_list(*prompt, name, special, model);
  throw bad_request(fmt::format("'{}' must be a string, or a list of strings or token ids", name),
                    name);
}

GenerationCall read_completion(const json& body, const ServedModel& model) {
  const Fields fields(body);
  check_model_name(fields, model);
  fields.refuse({"suffix"});
  GenerationCall call;
  GenerationOptions& options = call.options;
  options = read_options(fields, model, {"max_tokens"}, usual_tokens);
  options.echo = fields.flag("echo", false);
  if (options.max_tokens == 0 && !options.echo)
    throw bad_request("'max_tokens' is 0, which only \"echo\": true allows", "max_tokens");
  if (fields.integer("best_of", options.answers, 1, model.most_answers) != options.answers)
    throw bad_request("'best_of' must equal 'n'", "best_of", "unsupported_parameter");
  // The client of some harnesses sends true for 1.
  const json* wanted = fields.find("logprobs");
  if (wanted != nullptr && wanted->is_boolean())
    options.log_probabilities = wanted->get<bool>() ? 1 : -1;
  else
    options.log_probabilities =
        static_cast<int>(fields.integer("logprobs", -1, 0, most_alternatives));
  if (fields.find("prompt") == nullptr) fields.refuse({"prompt_embeds"});
  call.prompts = read_prompts(fields, "prompt", model);
  fit_prompts(fields, model, call);
  return call;
}

}  // namespace triax
