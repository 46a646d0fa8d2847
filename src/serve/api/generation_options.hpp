// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that completions and chat completions share: how tokens are chosen, where an answer
// ends, and what the reply holds.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/inference/engine/engine.hpp"
#include "src/serve/api/fields.hpp"
#include "src/serve/api/offered_tools.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

class ChatTemplates;

/// The model as requests see it.
struct ServedModel {
  std::vector<std::string> names;  // at least one; the first is its own name, others are aliases
  std::int64_t created = 0;        // seconds since 1970
  std::int64_t context = 0, vocabulary = 0;  // tokens
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<std::int32_t> end_tokens;
  std::shared_ptr<const ChatTemplates> templates;  // null: it has none
  std::vector<std::string> special_tokens;         // as text names them
  TokenChoice choice;                              // where a request says nothing
  std::int64_t most_answers = 0;                   // per request: prompts x n
};

inline constexpr int most_alternatives = 20;  // log-probabilities per token

struct GenerationOptions {
  TokenChoice choice;            // seed: drawn if the request has none
  std::int64_t max_tokens = -1;  // -1: to the end of the context
  std::int64_t min_tokens = 0;
  std::vector<std::string> stops;
  std::vector<std::int32_t> end_tokens;
  bool include_stop = false, skip_special_tokens = true;
  std::int64_t answers = 1;            // per prompt (n)
  int log_probabilities = -1;          // alternatives per token; -1: none
  bool echo = false;                   // the reply begins with the prompt
  bool stream = false, usage = false;  // usage: in a last event of its own
  OfferedTools tools;                  // of a chat
  ConstraintSpec constraint;           // the form of the answers
  Pooling pooling = Pooling::none;     // embeddings instead of answers
};

/// A request for text: the prompts, and one set of options for all.
struct GenerationCall {
  GenerationOptions options;
  std::vector<std::vector<std::int32_t>> prompts;
};

/// Reads the common fields. `most_tokens`: names of the field for max_tokens, the first that is
/// there counts; the value `otherwise` where none is.
GenerationOptions read_options(const Fields& fields, const ServedModel& model,
                               std::initializer_list<const char*> most_tokens,
                               std::int64_t otherwise);

/// Cuts prompts to `truncate_prompt_tokens` (the last ones stay) and refuses those without room for
/// an answer in the context; max_tokens is lowered to the room that there is when a request is
/// opened. ApiError for too many answers, too.
void fit_prompts(const Fields& fields, const ServedModel& model, GenerationCall& call);

/// The ids of a text, in which special tokens may stand by their names. If `add_special`, with the
/// tokens that begin a text, unless it begins with the first of them itself.
std::vector<std::int32_t> encode(const ServedModel& model, const std::string& text,
                                 bool add_special);

/// ApiError 404 unless `model` is absent or names the model.
void check_model_name(const Fields& fields, const ServedModel& model);

}  // namespace triax
