// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/generation_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "src/serve/api/answer_form.hpp"
#include "src/serve/api/api_error.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t most = std::int64_t{1} << 40;
constexpr std::size_t most_stops = 16;
constexpr double smallest = 1e-9;  // of an open interval from 0

std::uint64_t drawn_seed() {
  static std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

std::vector<std::pair<std::int32_t, float>> read_bias(const Fields& fields,
                                                      std::int64_t vocabulary) {
  const json* value = fields.find("logit_bias");
  std::vector<std::pair<std::int32_t, float>> bias;
  if (value == nullptr) return bias;
  const auto wrong = [](const std::string& what) {
    return bad_request("'logit_bias' must map token ids to numbers from -100 to 100: " + what,
                       "logit_bias");
  };
  if (!value->is_object()) throw wrong("it is no object");
  for (const auto& [key, number] : value->items()) {
    std::int32_t token = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc() || end != key.data() + key.size() || token < 0 || token >= vocabulary)
      throw wrong(fmt::format("\"{}\" is no token id below {}", key, vocabulary));
    if (!number.is_number() || std::abs(number.get<double>()) > 100)
      throw wrong(fmt::format("the value of {} is {}", token, number.dump()));
    bias.emplace_back(token, number.get<float>());
  }
  return bias;
}

TokenChoice read_choice(const Fields& fields, const ServedModel& model) {
  TokenChoice choice = model.choice;
  choice.temperature = fields.number("temperature", choice.temperature, 0, 2);
  choice.top_p = fields.number("top_p", choice.top_p, smallest, 1);
  choice.min_p = fields.number("min_p", choice.min_p, 0, 1);
  // -1: vLLM's other word for all tokens.
  choice.top_k = static_cast<int>(
      std::max<std::int64_t>(0, fields.integer("top_k", choice.top_k, -1, 1 << 30)));
  choice.repetition_penalty =
      fields.number("repetition_penalty", choice.repetition_penalty, smallest, 100);
  choice.presence_penalty = fields.number("presence_penalty", 0, -2, 2);
  choice.frequency_penalty = fields.number("frequency_penalty", 0, -2, 2);
  choice.logit_bias = read_bias(fields, model.vocabulary);
  const auto seed = fields.integer_if_any("seed", INT64_MIN, INT64_MAX);
  choice.seed = seed ? static_cast<std::uint64_t>(*seed) : drawn_seed();
  return choice;
}

std::vector<std::int32_t> read_ends(const Fields& fields, const ServedModel& model) {
  std::vector<std::int32_t> ends;
  if (!fields.flag("ignore_eos", false)) ends = model.end_tokens;
  for (const std::int32_t token : fields.tokens("stop_token_ids", model.vocabulary))
    ends.push_back(token);
  return ends;
}

// stream_options, which only a stream may have.
bool read_usage(const Fields& fields, bool stream) {
  const json* value = fields.find("stream_options");
  if (value == nullptr) return false;
  if (!stream) throw bad_request("'stream_options' needs \"stream\": true", "stream_options");
  if (!value->is_object())
    throw bad_request("'stream_options' must be an object", "stream_options");
  return Fields(*value).flag("include_usage", false);
}

}  // namespace

GenerationOptions read_options(const Fields& fields, const ServedModel& model,
                               std::initializer_list<const char*> most_tokens,
                               std::int64_t otherwise) {
  fields.refuse({"best_of_sequence", "use_beam_search", "bad_words", "allowed_token_ids",
                 "prompt_logprobs", "guided_grammar", "logits_processors"});
  GenerationOptions options;
  options.constraint = read_answer_form(fields);
  options.choice = read_choice(fields, model);
  options.max_tokens = otherwise;
  for (const char* name : most_tokens)
    if (const auto given = fields.integer_if_any(name, 0, most)) {
      options.max_tokens = *given;
      break;
    }
  options.min_tokens = fields.integer("min_tokens", 0, 0, most);
  if (options.max_tokens >= 0 && options.min_tokens > options.max_tokens)
    throw bad_request("'min_tokens' is larger than the most tokens of the answer", "min_tokens");
  options.stops = fields.texts("stop", most_stops);
  options.end_tokens = read_ends(fields, model);
  options.include_stop = fields.flag("include_stop_str_in_output", false);
  options.skip_special_tokens = fields.flag("skip_special_tokens", true);
  options.answers = fields.integer("n", 1, 1, model.most_answers);
  options.stream = fields.flag("stream", false);
  options.usage = read_usage(fields, options.stream);
  return options;
}

void fit_prompts(const Fields& fields, const ServedModel& model, GenerationCall& call) {
  const auto answers = std::ssize(call.prompts) * call.options.answers;
  if (answers > model.most_answers)
    throw bad_request(
        fmt::format("the request asks for {} answers ({} prompts x {}); this server "
                    "allows {} (serve.answers)",
                    answers, call.prompts.size(), call.options.answers, model.most_answers),
        "n");
  const auto kept = fields.integer_if_any("truncate_prompt_tokens", 1, model.context);
  const std::int64_t room = call.options.max_tokens == 0 ? 0 : 1;
  for (auto& prompt : call.prompts) {
    if (kept && std::ssize(prompt) > *kept) prompt.erase(prompt.begin(), prompt.end() - *kept);
    if (prompt.empty())
      throw bad_request("the prompt has no token, and this model has none that begins a text",
                        "prompt");
    if (std::ssize(prompt) + room > model.context)
      throw bad_request(
          fmt::format("This model's maximum context length is {} tokens, and the prompt has {}, "
                      "which leaves none for the answer. Shorten it, or set "
                      "truncate_prompt_tokens",
                      model.context, prompt.size()),
          "prompt", "context_length_exceeded");
  }
}

std::vector<std::int32_t> encode(const ServedModel& model, const std::string& text,
                                 bool add_special) {
  const auto encoder = model.tokenizer->encoder();
  std::vector<std::int32_t> ids, specials;
  encoder->encode(text, {.special_tokens_in_text = true, .add_special_tokens = false}, ids);
  if (add_special) encoder->encode("", {.add_special_tokens = true}, specials);
  const bool begun = !ids.empty() && !specials.empty() && ids.front() == specials.front();
  if (add_special && !begun) {
    ids.clear();
    encoder->encode(text, {.special_tokens_in_text = true, .add_special_tokens = true}, ids);
  }
  for (const std::int32_t id : ids)
    if (id >= model.vocabulary)
      throw bad_request(
          fmt::format("token {} of the text is not a token of the model, which has "
                      "{}",
                      id, model.vocabulary));
  return ids;
}

void check_model_name(const Fields& fields, const ServedModel& model) {
  const std::string name = fields.text("model", model.names.front());
  if (std::ranges::find(model.names, name) == model.names.end())
    throw ApiError(404,
                   fmt::format("The model `{}` does not exist. This server has `{}`", name,
                               model.names.front()),
                   "model", "model_not_found");
}

}  // namespace triax
