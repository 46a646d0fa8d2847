// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters of lists, dicts and other iterables.
// The first argument is the value; Fault where Jinja raises an error.
#include "src/text/template/builtin/host.hpp"

namespace triax::jinja {

Value filter_dictsort(Host& host, const Arguments& arguments);
Value filter_first(Host& host, const Arguments& arguments);
Value filter_items(Host& host, const Arguments& arguments);
Value filter_join(Host& host, const Arguments& arguments);
Value filter_last(Host& host, const Arguments& arguments);
Value filter_length(Host& host, const Arguments& arguments);
Value filter_list(Host& host, const Arguments& arguments);
Value filter_max(Host& host, const Arguments& arguments);
Value filter_min(Host& host, const Arguments& arguments);
Value filter_reverse(Host& host, const Arguments& arguments);
Value filter_sort(Host& host, const Arguments& arguments);
Value filter_sum(Host& host, const Arguments& arguments);
Value filter_unique(Host& host, const Arguments& arguments);

}  // namespace triax::jinja
