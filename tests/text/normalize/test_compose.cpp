// SPDX-License-Identifier: Apache-2.0
#include "src/text/normalize/compose.hpp"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <random>

#include "kernels/base/utf8.hpp"

namespace triax {
namespace {

std::string form_of(const Normalizer& form, const std::string& text) {
  std::string out;
  return form.apply(text, out) ? out : text;
}

TEST(NormalForm, ExamplesOfTheStandard) {
  const auto nfc = normal_form(NormalForm::nfc);
  EXPECT_EQ(form_of(*nfc, "e\u0301 A\u030a \u1100\u1161\u11a8 \u212b"), "é Å 각 Å");
  EXPECT_EQ(form_of(*nfc, "ﬁ ①"), "ﬁ ①");
  EXPECT_EQ(form_of(*normal_form(NormalForm::nfkc), "ﬁ ① Ａ"), "fi 1 A");
  EXPECT_EQ(form_of(*normal_form(NormalForm::nfd), "é각"), "e\u0301\u1100\u1161\u11a8");
  // A mark of Unicode 14, above the one behind it: Hugging Face tokenizers does not know it.
  EXPECT_EQ(form_of(*nfc, "a\u0898\u0323"), "a\u0898\u0323");
  std::string out;
  EXPECT_FALSE(nfc->apply("plain ASCII, é, 中文", out));
  EXPECT_EQ(out, "");
}

// Only the surroundings of some characters are normalized, to the same as the whole.
TEST(NormalForm, PartsEqualTheWhole) {
  struct Case {
    NormalForm form;
    int options;
  };
  std::mt19937 random(4);
  for (const Case& kind :
       {Case{NormalForm::nfc, UTF8PROC_COMPOSE}, Case{NormalForm::nfd, UTF8PROC_DECOMPOSE},
        Case{NormalForm::nfkc, UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
        Case{NormalForm::nfkd, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}}) {
    const auto form = normal_form(kind.form);
    for (int round = 0; round < 3000; ++round) {
      std::string text;
      for (std::size_t n = random() % 12; n > 0; --n) {
        constexpr char32_t starts[] = {0x41,   0xC0,   0x300,  0x900, 0x1100,
                                       0x1160, 0xAC00, 0x3040, 0xFB00};
        append_utf8(text, starts[random() % 9] + static_cast<char32_t>(random() % 0x70));
      }
      utf8proc_uint8_t* whole = nullptr;
      const auto bytes =
          utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &whole,
                       static_cast<utf8proc_option_t>(kind.options | UTF8PROC_STABLE));
      ASSERT_GE(bytes, 0);
      const std::string expected(reinterpret_cast<const char*>(whole),
                                 static_cast<std::size_t>(bytes));
      std::free(whole);
      ASSERT_EQ(form_of(*form, text), expected);
    }
  }
}

}  // namespace
}  // namespace triax
