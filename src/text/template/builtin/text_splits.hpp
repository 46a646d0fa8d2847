// SPDX-License-Identifier: Apache-2.0
#pragma once
// Methods that cut a text in pieces: `self` is the text; the pieces of a safe text are safe.
#include <string_view>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

Value split_from_left(const Value& self, const Arguments& arguments);   // split(sep, maxsplit)
Value split_from_right(const Value& self, const Arguments& arguments);  // rsplit(sep, maxsplit)
Value split_lines(const Value& self, const Arguments& arguments);       // splitlines(keepends)
Value partition_first(const Value& self, const Arguments& arguments);   // partition(sep)
Value partition_last(const Value& self, const Arguments& arguments);    // rpartition(sep)

/// Lines of a text, without their ends or with them.
std::vector<std::string_view> text_lines(std::string_view text, bool keep_ends);

}  // namespace triax::jinja
