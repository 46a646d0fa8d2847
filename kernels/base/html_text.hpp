// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text inside HTML.
#include <string>
#include <string_view>

namespace triax {

/// Text with the characters that HTML reserves replaced, for content and for attributes: &amp; &lt;
/// &gt; &#34; &#39;, as MarkupSafe writes them (chat templates are held to its bytes).
std::string html_escaped(std::string_view text);

}  // namespace triax
