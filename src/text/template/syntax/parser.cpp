// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/syntax/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "src/text/template/syntax/expression_parser.hpp"

namespace triax::jinja {
namespace {

using Kind = Token::Kind;
using Words = std::initializer_list<std::string_view>;

constexpr int deepest = 100;  // nested blocks

class Parser {
 public:
  explicit Parser(const Source& source) : tokens_(source), expressions_(tokens_) {}

  Tree run() {
    Tree tree;
    try {
      tree.body = parse_body({});
    } catch (const Fault& fault) {
      throw tokens_.error(tokens_.now().at, fault.what());
    }
    tree.has_generation = has_generation_;
    return tree;
  }

 private:
  // Statements to a tag of `ends`, whose name is the current token then; to the end of the template
  // where there are none.
  Body parse_body(Words ends) {
    if (++depth_ > deepest) throw tokens_.error(tokens_.now().at, "blocks are nested too deeply");
    const std::size_t begin = tokens_.now().at;
    Body body;
    while (!tokens_.is(Kind::end)) {
      Token token = tokens_.next();
      if (token.kind == Kind::data) {
        body.push_back({token.at, Data{std::move(token.text)}});
      } else if (token.kind == Kind::print_begin) {
        body.push_back({token.at, Print{expressions_.parse_tuple(false)}});
        tokens_.expect(Kind::print_end, "}}");
      } else {
        if (std::ranges::any_of(ends,
                                [&](std::string_view name) { return tokens_.is_name(name); })) {
          --depth_;
          return body;
        }
        body.push_back(parse_block());
      }
    }
    if (ends.size() > 0)
      throw tokens_.error(begin, fmt::format("the block has no {{% {} %}}", *(ends.end() - 1)));
    --depth_;
    return body;
  }

  // A body, and the end of its last tag.
  Body parse_whole_body(Words ends) {
    end_block();
    Body body = parse_body(ends);
    tokens_.next();
    end_block();
    return body;
  }

  void end_block() { tokens_.expect(Kind::block_end, "%}"); }

  Statement parse_block() {
    const Token tag = tokens_.expect(Kind::name, "the name of a block");
    Statement statement{.at = tag.at, .form = Break{}};
    if (tag.text == "if")
      statement.form = parse_if();
    else if (tag.text == "for")
      statement.form = parse_for();
    else if (tag.text == "set")
      parse_set(statement);
    else if (tag.text == "macro")
      statement.form = Macro{parse_macro()};
    else if (tag.text == "call")
      statement.form = parse_call();
    else if (tag.text == "filter")
      statement.form = parse_filter();
    else if (tag.text == "generation")
      statement.form = parse_generation();
    else if (tag.text == "break" || tag.text == "continue")
      parse_jump(tag, statement);
    else
      throw unknown(tag);
    return statement;
  }

  UsageError unknown(const Token& tag) const {
    if (tag.text.starts_with("end") || tag.text == "else" || tag.text == "elif")
      return tokens_.error(tag.at, fmt::format("{{% {} %}} ends no block", tag.text));
    return template_error(
        tokens_.source(), tag.at, fmt::format("{{% {} %}} is not supported", tag.text),
        "chat templates have if, for, set, macro, call, filter, generation, break "
        "and continue");
  }

  If parse_if() {
    If result;
    for (;;) {
      ExpressionPtr condition = expressions_.parse_tuple(true);
      end_block();
      Body body = parse_body({"elif", "else", "endif"});
      result.branches.push_back({std::move(condition), std::move(body)});
      const Token end = tokens_.next();
      if (end.text == "elif") continue;
      if (end.text == "else")
        result.branches.push_back({nullptr, parse_whole_body({"endif"})});
      else
        end_block();
      return result;
    }
  }

  For parse_for() {
    For loop{.target = parse_target(false),
             .items = nullptr,
             .condition = nullptr,
             .body = {},
             .otherwise = {}};
    tokens_.expect_name("in");
    loop.items = expressions_.parse_tuple(true);
    if (tokens_.skip_name("if")) loop.condition = expressions_.parse();
    if (tokens_.is_name("recursive"))
      throw tokens_.error(tokens_.now().at, "recursive loops are not supported");
    end_block();
    ++loops_;
    loop.body = parse_body({"else", "endfor"});
    --loops_;
    if (tokens_.next().text == "else")
      loop.otherwise = parse_whole_body({"endfor"});
    else
      end_block();
    return loop;
  }

  Target parse_one_target(bool with_attribute) {
    if (tokens_.skip_symbol("(")) {
      Target inside = parse_target(false);
      tokens_.expect_symbol(")");
      return inside;
    }
    const Token name = tokens_.expect(Kind::name, "the name of a variable");
    Target target{.at = name.at, .name = name.text, .attribute = {}, .parts = {}};
    for (const char* word : {"true", "false", "none", "True", "False", "None"})
      if (name.text == word) throw tokens_.error(name.at, fmt::format("{} cannot be set", word));
    if (with_attribute && tokens_.skip_symbol("."))
      target.attribute = tokens_.expect(Kind::name, "the name of an attribute").text;
    return target;
  }

  Target parse_target(bool with_attribute) {
    Target first = parse_one_target(with_attribute);
    if (!tokens_.is_symbol(",")) return first;
    Target all{.at = first.at, .name = {}, .attribute = {}, .parts = {}};
    all.parts.push_back(std::move(first));
    while (tokens_.skip_symbol(",") && !tokens_.is_name("in") && !tokens_.is_symbol("="))
      all.parts.push_back(parse_one_target(false));
    return all;
  }

  void parse_set(Statement& statement) {
    Target target = parse_target(true);
    if (tokens_.skip_symbol("=")) {
      statement.form = Set{std::move(target), expressions_.parse_tuple(false)};
      return end_block();
    }
    ExpressionPtr filters = tokens_.skip_symbol("|") ? expressions_.parse_block_filters() : nullptr;
    Body body = parse_whole_body({"endset"});
    statement.form = SetBlock{std::move(target), std::move(filters), std::move(body)};
  }

  std::vector<Parameter> parse_parameters() {
    std::vector<Parameter> parameters;
    tokens_.expect_symbol("(");
    while (!tokens_.is_symbol(")")) {
      Parameter parameter{tokens_.expect(Kind::name, "the name of a parameter").text, nullptr};
      if (tokens_.skip_symbol("="))
        parameter.otherwise = expressions_.parse();
      else if (!parameters.empty() && parameters.back().otherwise)
        throw tokens_.error(tokens_.now().at,
                            "a parameter without default follows one with a default");
      parameters.push_back(std::move(parameter));
      if (!tokens_.skip_symbol(",")) break;
    }
    tokens_.expect_symbol(")");
    return parameters;
  }

  // Runs `work` where no loop is around it. `break` there would leave a loop of the caller.
  template <class Work>
  auto inside_function(Work work) {
    const int loops = std::exchange(loops_, 0);
    auto result = work();
    loops_ = loops;
    return result;
  }

  void parse_macro_body(MacroBody& macro, Words ends) {
    const auto outside = std::exchange(expressions_.mentioned, {});
    macro.body = inside_function([&] { return parse_whole_body(ends); });
    macro.takes_more = expressions_.mentioned.varargs;
    macro.takes_more_named = expressions_.mentioned.kwargs;
    expressions_.mentioned = outside;
  }

  MacroBody parse_macro() {
    MacroBody macro;
    macro.name = tokens_.expect(Kind::name, "the name of a macro").text;
    macro.parameters = parse_parameters();
    parse_macro_body(macro, {"endmacro"});
    return macro;
  }

  CallBlock parse_call() {
    CallBlock block;
    if (tokens_.is_symbol("(")) block.caller.parameters = parse_parameters();
    block.call = expressions_.parse_call_target();
    block.caller.name = "caller";
    parse_macro_body(block.caller, {"endcall"});
    return block;
  }

  FilterBlock parse_filter() {
    FilterBlock block;
    block.filters = expressions_.parse_block_filters();
    block.body = parse_whole_body({"endfilter"});
    return block;
  }

  Generation parse_generation() {
    has_generation_ = true;
    return {inside_function([&] { return parse_whole_body({"endgeneration"}); })};
  }

  void parse_jump(const Token& tag, Statement& statement) {
    if (loops_ == 0) throw tokens_.error(tag.at, fmt::format("{{% {} %}} is in no loop", tag.text));
    if (tag.text == "continue") statement.form = Continue{};
    end_block();
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int depth_ = 0, loops_ = 0;
  bool has_generation_ = false;
};

}  // namespace

Tree parse_template(const Source& source) {
  return Parser(source).run();
}

}  // namespace triax::jinja
