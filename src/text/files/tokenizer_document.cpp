// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tokenizer_document.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/check.hpp"
#include "src/text/model/vocabulary.hpp"

namespace triax {
namespace {

using nlohmann::json;

// Events of the parser. The DOM of 400,000 vocabulary entries and merges would cost most of the
// time.
class Events final : public json::json_sax_t {
 public:
  Events(TokenizerDocument& document, std::string place)
      : document_(document), place_(std::move(place)) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return number(value); }
  bool number_unsigned(std::uint64_t value) override {
    return number(static_cast<std::int64_t>(std::min<std::uint64_t>(value, 1ULL << 62U)));
  }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool binary(json::binary_t&) override { return false; }

  bool string(std::string& value) override {
    if (list_ != List::merges) return add(std::move(value));
    if (in_pair_) {
      pair_.push_back(std::move(value));
      return true;
    }
    const std::size_t blank = value.find(' ');
    if (blank == value.npos || value.find(' ', blank + 1) != value.npos)
      throw wrong("model.merges", "\"" + value + "\" is not two tokens with a space between them");
    document_.merges.emplace_back(value.substr(0, blank), value.substr(blank + 1));
    return true;
  }

  bool start_object(std::size_t) override {
    if (in_model("vocab")) {
      list_ = List::vocab;
      return true;
    }
    return open(json::object());
  }
  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override {
    if (list_ != List::vocab) return close();
    list_ = List::none;
    return true;
  }
  bool start_array(std::size_t) override {
    if (list_ == List::merges) {
      in_pair_ = true;
      pair_.clear();
      return true;
    }
    if (!in_model("merges")) return open(json::array());
    list_ = List::merges;
    return true;
  }
  bool end_array() override {
    if (list_ != List::merges) return close();
    if (!in_pair_) {
      list_ = List::none;
      return true;
    }
    in_pair_ = false;
    if (pair_.size() != 2)
      throw wrong("model.merges", fmt::format("entry {} is no pair", document_.merges.size()));
    document_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    throw UsageError(place_ + " is not JSON", error.what(), "Fetch the file again");
  }

 private:
  enum class List : std::uint8_t { none, vocab, merges };

  UsageError wrong(const std::string& where, const std::string& why) const {
    return UsageError(fmt::format("{}: {} cannot be read", place_, where), why,
                      "Check that the file is whole");
  }
  bool in_model(const char* key) const {
    return list_ == List::none && open_.size() == 2 && open_keys_.back() == "model" && key_ == key;
  }
  bool number(std::int64_t value) {
    if (list_ != List::vocab) return add(value);
    if (value < 0 || value >= most_tokens)
      throw wrong("model.vocab", fmt::format("id {} of \"{}\"", value, key_));
    document_.vocab.emplace_back(std::move(key_), static_cast<std::int32_t>(value));
    return true;
  }
  // Puts a value where the parser is.
  json& put(json value) {
    if (list_ != List::none) throw wrong("model", "a value of an unexpected type");
    if (open_.empty()) return document_.rest = std::move(value);
    json& top = *open_.back();
    if (top.is_array()) return top.emplace_back(std::move(value));
    return top[key_] = std::move(value);
  }
  bool add(json value) {
    put(std::move(value));
    return true;
  }
  bool open(json value) {
    const std::string key = key_;
    open_.push_back(&put(std::move(value)));
    open_keys_.push_back(key);
    return true;
  }
  bool close() {
    open_.pop_back();
    open_keys_.pop_back();
    return true;
  }

  TokenizerDocument& document_;
  std::string place_, key_;
  std::vector<json*> open_;             // containers around the parser
  std::vector<std::string> open_keys_;  // their keys
  List list_ = List::none;
  bool in_pair_ = false;
  std::vector<std::string> pair_;
};

}  // namespace

TokenizerDocument read_tokenizer_document(std::string_view text, const std::string& place) {
  TokenizerDocument document;
  Events events(document, place);
  json::sax_parse(text, &events);
  std::ranges::sort(document.vocab, {}, &std::pair<std::string, std::int32_t>::second);
  return document;
}

}  // namespace triax
