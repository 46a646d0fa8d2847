// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/sample_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/files/sha256.hpp"
#include "io/tokens/token_reader.hpp"
#include "src/data/chat/end_of_turn.hpp"
#include "src/data/chat/preference_line.hpp"
#include "src/data/chat/turns.hpp"
#include "src/text/token_spans.hpp"

namespace triax {
namespace {

using jinja::TextSpan;
using nlohmann::ordered_json;

bool trains(std::int32_t label) {
  return label != ignored_label;
}

// `of`: " of PLACE", for the error.
void check_end_token(const Tokenizer& tokenizer, const std::string& of = {}) {
  if (tokenizer.end_token()) return;
  throw UsageError(fmt::format("the tokenizer{} has no end token", of),
                   "an answer without one never ends",
                   "Name it as eos_token in tokenizer_config.json");
}

std::int64_t trained_tokens(const ChatSample& row) {
  return std::ranges::count_if(row.labels, trains);
}

}  // namespace

ChatCounts& ChatCounts::operator+=(const ChatCounts& other) {
  samples += other.samples;
  tokens += other.tokens;
  trained += other.trained;
  without_answer += other.without_answer;
  cut += other.cut;
  cut_answers += other.cut_answers;
  seams += other.seams;
  open_ends += other.open_ends;
  double_begins += other.double_begins;
  return *this;
}

std::string ChatContext::fingerprint() const {
  std::string all =
      fmt::format("1 {} {} {} {} {}\n", tokenizer.tokenizer->fingerprint(), config.format,
                  config.train_on, most_tokens, jinja::clock_text(clock));
  if (templates) all += templates->fingerprint();
  for (const auto& [name, value] : config.fields) all += fmt::format("\nfield {}={}", name, value);
  for (const auto& [name, value] : config.roles) all += fmt::format("\nrole {}={}", name, value);
  return sha256_of(all);
}

ChatContext chat_context(const TokenizerFiles& files, const ConversationConfig& config,
                         int most_tokens) {
  ChatContext context{open_with_facts(files), {}, config, {}, most_tokens};
  if (!config.template_date.empty())
    context.clock = jinja::parse_clock(config.template_date, "data.template_date");
  const bool pairs = context.pairs();
  if (config.format == "chat" || pairs)
    context.templates = config.template_file.empty() ? ChatTemplates(files)
                                                     : ChatTemplates(config.template_file, files);
  if (pairs && context.templates->empty()) context.templates.reset();  // the answers may be texts
  if (context.templates) {
    (void)context.templates->choose({}, false);  // refuses a model without one
    if (config.template_date.empty() && context.templates->asks_for_date())
      throw UsageError("the chat template writes the date", "it calls strftime_now",
                       "Set data.template_date to a date, as 2026-01-31, so that the same data can "
                       "be made again");
  }
  if (!context.templates) check_end_token(*context.tokenizer.tokenizer, " of " + files.place);
  return context;
}

SampleEncoder::SampleEncoder(const ChatContext& context)
    : context_(context), tokenizer_(*context.tokenizer.tokenizer), encoder_(tokenizer_.encoder()) {
  if (context.tokenizer.config.begin) begin_ = tokenizer_.id_of(*context.tokenizer.config.begin);
}

std::vector<ChatSample> SampleEncoder::encode(const ordered_json& line) {
  std::vector<ChatSample> rows = encode_rows(line);
  for (ChatSample& row : rows) {
    if (context_.config.train_on == "all") row.labels = row.ids;
    if (!row.labels.empty()) row.labels.front() = ignored_label;
    if (begin_ && row.ids.size() > 1 && row.ids[0] == *begin_ && row.ids[1] == *begin_)
      ++counts_.double_begins;
    check_ends(row);
    cut(row);
  }
  if (std::ranges::any_of(rows, [](const ChatSample& row) { return trained_tokens(row) == 0; })) {
    ++counts_.without_answer;
    return {};
  }
  ++counts_.samples;
  for (const ChatSample& row : rows) {
    counts_.tokens += std::ssize(row.ids);
    counts_.trained += trained_tokens(row);
  }
  return rows;
}

std::vector<ChatSample> SampleEncoder::encode_rows(const ordered_json& line) {
  const ConversationConfig& config = context_.config;
  if (config.format == "preference") return encode_pair(line);
  if (config.format == "chat") return {encode_chat(conversation_of_line(line, config), 0)};
  return {encode_prompted(prompted_text_of_line(line, config))};
}

std::vector<ChatSample> SampleEncoder::encode_pair(const ordered_json& line) {
  const PreferencePair pair = preference_of_line(line, context_.config);
  if (!pair.messages)
    return {encode_prompted(pair.chosen_text), encode_prompted(pair.rejected_text)};
  if (!context_.templates)
    throw UsageError("the answers are messages, and the tokenizer has no chat template", {},
                     "Set data.template to a file with one, or give prompt, chosen and rejected as "
                     "texts");
  return {encode_chat(pair.chosen, pair.prompt), encode_chat(pair.rejected, pair.prompt)};
}

// Special tokens that the text names are taken for them, as apply_chat_template does. Nothing in
// the first `prompt` messages trains.
ChatSample SampleEncoder::encode_chat(const Conversation& conversation, std::size_t prompt) {
  const ChatTemplates& templates = *context_.templates;
  const jinja::Rendered rendered = templates.render(conversation, context_.clock);
  const bool marked = templates.choose({}, !conversation.tools.is_null()).has_generation();
  const std::vector<TextSpan> spans = trained_spans(conversation, rendered, marked, prompt);
  ChatSample sample;
  encode_spans(rendered.text, spans, sample);
  if (!marked) complete_turns(spans, sample);
  return sample;
}

std::vector<TextSpan> SampleEncoder::trained_spans(const Conversation& conversation,
                                                   const jinja::Rendered& rendered, bool marked,
                                                   std::size_t prompt) const {
  const std::string& train_on = context_.config.train_on;
  if (train_on == "all") return {};
  std::vector<TextSpan> spans =
      marked ? rendered.generated
             : assistant_turns(*context_.templates, conversation, context_.clock, rendered.text);
  if (train_on == "last" && spans.size() > 1) spans.erase(spans.begin(), spans.end() - 1);
  if (prompt == 0) return spans;
  const auto turns = [&](std::size_t end) {
    return std::count_if(conversation.messages.begin(),
                         conversation.messages.begin() + static_cast<std::ptrdiff_t>(end),
                         [](const ordered_json& m) { return m.value("role", "") == "assistant"; });
  };
  if (turns(conversation.messages.size()) != std::ssize(spans))
    throw UsageError(
        "the template marks other parts of the text than one for each answer",
        fmt::format("{} answers, {} parts in {{% generation %}}",
                    turns(conversation.messages.size()), spans.size()),
        "Set data.template to a template with one {% generation %} for each assistant message");
  spans.erase(spans.begin(), spans.begin() + turns(prompt));
  return spans;
}

// Prompt and answer are encoded one by one: a model that answers sees the prompt's own ids.
ChatSample SampleEncoder::encode_prompted(const PromptedText& text) {
  if (context_.pairs()) check_end_token(tokenizer_);
  ChatSample sample;
  sample.ids = context_.tokenizer.before;
  sample.labels.assign(sample.ids.size(), ignored_label);
  append(text.prompt, false, false, sample);
  append(text.answer, false, true, sample);
  sample.ids.push_back(*tokenizer_.end_token());
  sample.labels.push_back(sample.ids.back());
  return sample;
}

void SampleEncoder::append(std::string_view text, bool special, bool trains, ChatSample& sample) {
  encoder_->encode(text, {.special_tokens_in_text = special, .add_special_tokens = false},
                   sample.ids);
  for (std::size_t i = sample.labels.size(); i < sample.ids.size(); ++i)
    sample.labels.push_back(trains ? sample.ids[i] : ignored_label);
}

// A token trains if it overlaps a span.
void SampleEncoder::encode_spans(const std::string& text, const std::vector<TextSpan>& spans,
                                 ChatSample& sample) {
  encoder_->encode(text, {.special_tokens_in_text = true, .add_special_tokens = false}, sample.ids);
  const auto tokens = token_spans(tokenizer_, text, sample.ids);
  if (!tokens) return encode_parts(text, spans, sample);
  sample.labels.assign(sample.ids.size(), ignored_label);
  std::size_t next = 0;
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    while (next < spans.size() && (*tokens)[i].begin >= spans[next].end) ++next;
    if (next < spans.size() && (*tokens)[i].end > spans[next].begin)
      sample.labels[i] = sample.ids[i];
  }
}

void SampleEncoder::encode_parts(const std::string& text, const std::vector<TextSpan>& spans,
                                 ChatSample& sample) {
  ++counts_.seams;
  sample = {};
  std::size_t at = 0;
  for (const TextSpan& span : spans) {
    append(std::string_view(text).substr(at, span.begin - at), true, false, sample);
    append(std::string_view(text).substr(span.begin, span.end - span.begin), true, true, sample);
    at = span.end;
  }
  append(std::string_view(text).substr(at), true, false, sample);
}

// The end of turn belongs to a turn, blanks behind it do not.
void SampleEncoder::complete_turns(const std::vector<TextSpan>& spans, ChatSample& sample) {
  if (spans.empty()) return;
  const std::vector<std::int32_t>& ids = sample.ids;
  for (std::size_t end = ids.size(); end > 0; --end) {
    const bool ends_here =
        trains(sample.labels[end - 1]) && (end == ids.size() || !trains(sample.labels[end]));
    if (!ends_here) continue;
    std::size_t last = end;  // behind the last token that is not blank
    while (last > 0 && trains(sample.labels[last - 1]) && is_blank(ids[last - 1])) --last;
    if (last > 0 && trains(sample.labels[last - 1]) && is_special(tokenizer_, ids[last - 1])) {
      std::fill(sample.labels.begin() + static_cast<std::ptrdiff_t>(last),
                sample.labels.begin() + static_cast<std::ptrdiff_t>(end), ignored_label);
      continue;
    }
    std::size_t behind = end;
    if (behind < ids.size() && is_blank(ids[behind])) ++behind;
    if (behind < ids.size() && is_special(tokenizer_, ids[behind]))
      std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(end), behind + 1 - end,
                  sample.labels.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

void SampleEncoder::check_ends(const ChatSample& sample) {
  if (context_.config.train_on == "all") return;
  for (std::size_t i = 0; i < sample.ids.size(); ++i) {
    const bool last =
        trains(sample.labels[i]) && (i + 1 == sample.ids.size() || !trains(sample.labels[i + 1]));
    if (last && !is_special(tokenizer_, sample.ids[i]) &&
        !(i > 0 && is_blank(sample.ids[i]) && is_special(tokenizer_, sample.ids[i - 1])))
      ++counts_.open_ends;
  }
}

void SampleEncoder::cut(ChatSample& sample) {
  const auto most = static_cast<std::size_t>(context_.most_tokens);
  if (sample.ids.size() <= most) return;
  ++counts_.cut;
  for (std::size_t i = most; i < sample.ids.size(); ++i)
    if (trains(sample.labels[i]) && (i + 1 == sample.ids.size() || !trains(sample.labels[i + 1])))
      ++counts_.cut_answers;
  sample.ids.resize(most);
  sample.labels.resize(most);
}

bool SampleEncoder::is_blank(std::int32_t id) const {
  const std::array<std::int32_t, 1> one = {id};
  const std::string text = tokenizer_.decode(one, false);
  return !is_special(tokenizer_, id) && text.find_first_not_of(" \t\r\n") == text.npos;
}

}  // namespace triax
