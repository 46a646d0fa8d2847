// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens of a template, as Jinja reads it with trim_blocks and lstrip_blocks: the newline after a
// block is dropped, and so are blanks between the start of a line and a block.
#include <cstdint>
#include <string>
#include <vector>

#include "src/text/template/syntax/source_position.hpp"

namespace triax::jinja {

struct Token {
  enum class Kind {
    data,
    print_begin,
    print_end,
    block_begin,
    block_end,
    name,
    text,
    integer,
    number,
    symbol,
    end
  };
  Kind kind = Kind::end;
  std::string text;          // data, name, symbol as "=="; content of a text without quotes
  std::size_t at = 0;        // offset in the source
  std::int64_t integer = 0;  // of an integer
  double number = 0;         // of a float
};

/// "\r\n" and "\r" become "\n", one newline at the end is dropped. UsageError unless UTF-8.
Source normalized_source(std::string name, std::string_view text);

/// Ends with a token of kind `end`. UsageError with line and column for text that is no token.
std::vector<Token> tokens_of(const Source& source);

}  // namespace triax::jinja
