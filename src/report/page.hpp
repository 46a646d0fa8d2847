// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page of a report: one file with its style and script inside, which asks for nothing outside.
#include <string>
#include <string_view>

namespace triax {

/// `body`: HTML. The page's policy forbids every request.
std::string page_html(std::string_view title, std::string_view body);

}  // namespace triax
