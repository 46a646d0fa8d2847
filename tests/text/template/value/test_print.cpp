// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/print.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace triax::jinja {
namespace {

// Answers of Python's repr.
TEST(Print, FloatsAreTheShortestThatReadBack) {
  EXPECT_EQ(float_text(0), "0.0");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(1e15), "1000000000000000.0");
  EXPECT_EQ(float_text(1e16), "1e+16");
  EXPECT_EQ(float_text(0.0001), "0.0001");
  EXPECT_EQ(float_text(0.00001), "1e-05");
  EXPECT_EQ(float_text(5e-324), "5e-324");
  EXPECT_EQ(float_text(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(float_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(float_text(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Print, TextsAreQuotedInLists) {
  EXPECT_EQ(representation(Value::of(std::string("it's \"é\"\n\u200b"))), R"('it\'s "é"\n\u200b')");
  EXPECT_EQ(representation(Value::of(std::string("it's"))), "\"it's\"");
  EXPECT_EQ(print(Value::of(std::string("it's"))), "it's");
  EXPECT_THROW(print(Value::iterator({})), Fault);
}

}  // namespace
}  // namespace triax::jinja
