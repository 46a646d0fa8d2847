// SPDX-License-Identifier: Apache-2.0
#include "src/config/row_slice.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

// Boundaries that datasets 5.2 gives for train[...]: ReadInstruction.from_spec().to_absolute().
TEST(RowSlice, IsThatOfDatasets) {
  struct Case {
    const char* slice;
    std::int64_t rows, begin, end;
  };
  constexpr Case cases[] = {
      {":", 7, 0, 7},
      {":10%", 7, 0, 1},
      {"33%:66%", 7, 2, 5},
      {":-10%", 7, 0, 6},
      {"-200:3", 7, 0, 3},
      {":1000", 7, 0, 7},
      {"1000:", 7, 7, 7},
      {":50%", 25, 0, 12},
      {":10%", 25, 0, 2},
      {"-10%:", 25, 23, 25},
      {"10%:90%", 25, 2, 22},
      {":-5", 25, 0, 20},
      {"-100%:50%", 25, 0, 12},
      {":10%", 45, 0, 4},
      {"10:20%", 45, 4, 9},
      {"10%:90%", 12345, 1234, 11110},
      {"33%:66%", 12345, 4074, 8148},
      {"-10%:", 12345, 11111, 12345},
      {"-5:", 12345, 12340, 12345},
  };
  for (const Case& one : cases) {
    const std::optional<RowSlice> slice = row_slice(one.slice);
    ASSERT_TRUE(slice) << one.slice;
    EXPECT_EQ(slice->of(one.rows), (RowRange{one.begin, one.end})) << one.slice << " " << one.rows;
  }
  EXPECT_EQ(row_slice("5:2")->of(7), (RowRange{5, 5})) << "none, as there";
}

TEST(RowSlice, OtherTextsAreNone) {
  for (const char* text : {"", "5", "a:", ":b", "1:2:3", "+3:5", " 1:2", "1:2 ", ":1.5", ":101%",
                           "-101%:", ":%", "%:", "1:99999999999999999999"})
    EXPECT_FALSE(row_slice(text)) << text;
}

TEST(RowSlice, SomeAreApartWhateverTheCount) {
  const auto apart = [](const char* a, const char* b) {
    return are_apart(*row_slice(a), *row_slice(b)) && are_apart(*row_slice(b), *row_slice(a));
  };
  EXPECT_TRUE(apart(":90%", "90%:"));
  EXPECT_TRUE(apart(":1000", "1000:2000"));
  EXPECT_TRUE(apart(":-100", "-100:"));
  EXPECT_FALSE(apart(":90%", "50%:"));
  EXPECT_FALSE(apart(":100", "90%:")) << "it depends on the count";
  EXPECT_FALSE(apart(":100", "-100:")) << "it depends on the count";
  EXPECT_FALSE(apart(":", ":"));
}

TEST(RowSlice, SomeDependOnTheCount) {
  for (const char* text : {":", ":1000", "5:10", "7:"}) {
    EXPECT_FALSE(row_slice(text)->depends_on_count()) << text;
    EXPECT_EQ(text_of(*row_slice(text)), text);
  }
  for (const char* text : {":10%", "-5:", ":-5", "10%:90%"}) {
    EXPECT_TRUE(row_slice(text)->depends_on_count()) << text;
    EXPECT_EQ(text_of(*row_slice(text)), text);
  }
  EXPECT_EQ(text_of(*row_slice("10:20%")), "10%:20%");
  EXPECT_TRUE(row_slice(":")->is_whole());
  EXPECT_FALSE(row_slice(":1000")->is_whole());
}

}  // namespace
}  // namespace triax
