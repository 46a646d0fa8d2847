// SPDX-License-Identifier: Apache-2.0
#include "src/commands/generate/generated_text.hpp"

#include <algorithm>
#include <utility>

#include "src/commands/process/standard_output.hpp"

namespace triax {

GeneratedText::GeneratedText(std::string prompt, const std::vector<std::int32_t>& tokens,
                             std::shared_ptr<const Tokenizer> tokenizer,
                             std::vector<std::string> stops, std::vector<std::int32_t> ends)
    : prompt_(std::move(prompt)),
      stream_(std::move(tokenizer)),
      stop_(std::move(stops)),
      ends_(std::move(ends)) {
  for (const std::int32_t token : tokens) stream_.next(token);
}

bool GeneratedText::add(std::int32_t token) {
  if (std::ranges::find(ends_, token) != ends_.end()) {
    reason_ = "end_token";
    return false;
  }
  tokens_.push_back(token);
  text_ += stop_.next(stream_.next(token));
  return !stop_.stopped();
}

void GeneratedText::finish() {
  text_ += stop_.next(stream_.rest());
  text_ += stop_.rest();
  if (stop_.stopped()) reason_ = "stop_text";
  finished_ = true;
}

std::string GeneratedText::take_new() {
  return text_.substr(std::exchange(taken_, text_.size()));
}

nlohmann::ordered_json GeneratedText::json() const {
  return {{"prompt", prompt_}, {"text", text_}, {"tokens", tokens_}, {"stopped_by", reason_}};
}

void TextPrinter::update() {
  if (json_) {
    if (!std::ranges::all_of(texts_, &GeneratedText::finished)) return;
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const GeneratedText& text : texts_) all.push_back(text.json());
    const nlohmann::ordered_json& out = all.size() == 1 ? all[0] : all;
    return print_out(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  for (; front_ < texts_.size(); ++front_, begun_ = false) {
    GeneratedText& text = texts_[front_];
    std::string more;
    if (!std::exchange(begun_, true)) more = (front_ > 0 ? "\n" : "") + text.prompt();
    more += text.take_new();
    if (text.finished()) more += "\n";
    if (!more.empty()) print_out(more);
    if (!text.finished()) return;
  }
}

}  // namespace triax
