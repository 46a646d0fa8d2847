// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/loop.hpp"

#include <fmt/format.h>

#include "src/text/template/value/compare.hpp"

namespace triax::jinja {
namespace {

Value or_undefined(const Value* item, const char* why) {
  return item != nullptr ? *item : Value::undefined(why);
}

class LoopVariable : public Object, public std::enable_shared_from_this<LoopVariable> {
 public:
  explicit LoopVariable(std::shared_ptr<LoopItems> items) : items_(std::move(items)) {}
  std::string type_name() const override { return "the loop"; }

  Value attribute(const std::string& name) override {
    const std::int64_t index = items_->index();
    if (name == "index") return Value::of(index);
    if (name == "index0") return Value::of(index - 1);
    if (name == "first") return Value::of(index == 1);
    if (name == "last") return Value::of(items_->ahead() == nullptr);
    if (name == "length") return Value::of(items_->length());
    if (name == "revindex") return Value::of(items_->length() - index + 1);
    if (name == "revindex0") return Value::of(items_->length() - index);
    if (name == "previtem") return or_undefined(items_->previous(), "there is no previous item");
    if (name == "nextitem") return or_undefined(items_->ahead(), "there is no next item");
    if (name == "depth") return Value::of(std::int64_t{1});
    if (name == "depth0") return Value::of(std::int64_t{0});
    if (name == "cycle")
      return Value::function(name, [index](Host&, const Arguments& a) { return cycle(index, a); });
    if (name == "changed")
      return Value::function(name, [self = shared_from_this()](Host&, const Arguments& a) {
        return self->changed(a);
      });
    return Value::undefined(fmt::format("the loop has no attribute '{}'", name));
  }

 private:
  static Value cycle(std::int64_t index, const Arguments& arguments) {
    if (arguments.positional.empty()) throw Fault("loop.cycle needs values");
    return arguments.positional[static_cast<std::size_t>(index - 1) % arguments.positional.size()];
  }

  Value changed(const Arguments& arguments) {
    Value values = Value::tuple(arguments.positional);
    const bool differ = !seen_ || !equal(*seen_, values);
    seen_ = std::move(values);
    return Value::of(differ);
  }

  std::shared_ptr<LoopItems> items_;
  std::optional<Value> seen_;
};

}  // namespace

bool LoopItems::take_one() {
  while (tested_ < items_.size()) {
    const Value item = items_[tested_++];
    if (takes_ && !takes_(item)) continue;
    taken_.push_back(item);
    return true;
  }
  return false;
}

const Value* LoopItems::ahead() {
  return done_ < taken_.size() || take_one() ? &taken_[done_] : nullptr;
}

const Value* LoopItems::next() {
  const Value* const item = ahead();
  if (item != nullptr) ++done_;
  return item;
}

const Value* LoopItems::previous() const {
  return done_ < 2 ? nullptr : &taken_[done_ - 2];
}

std::int64_t LoopItems::length() {
  while (take_one()) {
  }
  return static_cast<std::int64_t>(taken_.size());
}

void LoopItems::leave() {
  if (takes_)
    takes_ = [](const Value&) -> bool {
      throw Fault("the loop is over, and its condition was not asked for the items behind it");
    };
}

std::shared_ptr<Object> loop_object(std::shared_ptr<LoopItems> items) {
  return std::make_shared<LoopVariable>(std::move(items));
}

}  // namespace triax::jinja
