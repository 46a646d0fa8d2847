// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items of a loop, and the variable `loop`.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// Items of a loop that its condition takes. An item is tested when the loop comes to it, or when
/// `loop` looks ahead, as in Jinja.
class LoopItems {
 public:
  using Takes = std::function<bool(const Value& item)>;
  LoopItems(List items, Takes takes) : items_(std::move(items)), takes_(std::move(takes)) {}

  /// The next item; null: there is none. Valid until the next call.
  const Value* next();
  const Value* ahead();           // the one behind it, without going there
  const Value* previous() const;  // the one before it
  std::int64_t index() const { return static_cast<std::int64_t>(done_); }  // from 1
  std::int64_t length();  // of all items that are taken
  /// The loop is left before its end: the scopes of its condition go, so that the items behind it
  /// stay unknown.
  void leave();

 private:
  bool take_one();

  List items_, taken_;
  Takes takes_;  // empty: all
  std::size_t tested_ = 0, done_ = 0;
};

/// The object `loop`; the items outlive its use.
std::shared_ptr<Object> loop_object(std::shared_ptr<LoopItems> items);

}  // namespace triax::jinja
