// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/html_text.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(HtmlText, ReservedCharactersAreReplaced) {
  EXPECT_EQ(html_escaped("a<b>&\"c\"'d' \xc3\xa9"),
            "a&lt;b&gt;&amp;&#34;c&#34;&#39;d&#39; \xc3\xa9");
  EXPECT_EQ(html_escaped("&lt;"), "&amp;lt;");
  EXPECT_EQ(html_escaped(""), "");
}

}  // namespace
}  // namespace triax
