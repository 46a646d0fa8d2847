// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/filters/filters.hpp"

#include <fmt/format.h>

#include <array>

#include "src/text/template/filters/number_filters.hpp"
#include "src/text/template/filters/select_filters.hpp"
#include "src/text/template/filters/sequence_filters.hpp"
#include "src/text/template/filters/text_filters.hpp"

namespace triax::jinja {
namespace {

struct Row {
  const char* name;
  Value (*filter)(Host& host, const Arguments& arguments);
};

constexpr std::array<Row, 37> filters = {{{"abs", filter_abs},
                                          {"capitalize", filter_capitalize},
                                          {"count", filter_length},
                                          {"d", filter_default},
                                          {"default", filter_default},
                                          {"dictsort", filter_dictsort},
                                          {"e", filter_escape},
                                          {"escape", filter_escape},
                                          {"first", filter_first},
                                          {"float", filter_float},
                                          {"indent", filter_indent},
                                          {"int", filter_int},
                                          {"items", filter_items},
                                          {"join", filter_join},
                                          {"last", filter_last},
                                          {"length", filter_length},
                                          {"list", filter_list},
                                          {"lower", filter_lower},
                                          {"map", filter_map},
                                          {"max", filter_max},
                                          {"min", filter_min},
                                          {"reject", filter_reject},
                                          {"rejectattr", filter_rejectattr},
                                          {"replace", filter_replace},
                                          {"reverse", filter_reverse},
                                          {"round", filter_round},
                                          {"safe", filter_safe},
                                          {"select", filter_select},
                                          {"selectattr", filter_selectattr},
                                          {"sort", filter_sort},
                                          {"string", filter_string},
                                          {"sum", filter_sum},
                                          {"title", filter_title},
                                          {"tojson", filter_tojson},
                                          {"trim", filter_trim},
                                          {"unique", filter_unique},
                                          {"upper", filter_upper}}};

}  // namespace

Value apply_filter(Host& host, const std::string& name, const Arguments& arguments) {
  for (const Row& row : filters)
    if (name == row.name) return row.filter(host, arguments);
  throw Fault(fmt::format("the filter '{}' is not supported", name));
}

}  // namespace triax::jinja
