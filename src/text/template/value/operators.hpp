// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators of expressions, as Python has them on values. Fault where Python raises TypeError.
#include "src/text/template/value/value.hpp"

namespace triax::jinja {

enum class Operator { add, subtract, multiply, divide, floor_divide, modulo, power };

/// Largest text that an operator may make, in bytes.
inline constexpr std::size_t largest_result = std::size_t{1} << 26;
/// Longest list that an operator may make, in items.
inline constexpr std::size_t longest_list = std::size_t{1} << 22;

/// "+" for messages.
const char* spelling(Operator op);
Value apply(Operator op, const Value& a, const Value& b);
Value negated(const Value& value);
Value made_positive(const Value& value);

/// Number of characters, items or keys; Fault where there is none.
std::int64_t length_of_value(const Value& value);
/// container[key]; undefined where there is no such item. Fault for an undefined container.
Value subscript(const Value& container, const Value& key);
/// container[from:to:step]; bounds that are None are open.
Value slice(const Value& container, const Value& from, const Value& to, const Value& step);

}  // namespace triax::jinja
