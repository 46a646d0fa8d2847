// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/bit_fields.hpp"

#include <gtest/gtest.h>

#include "kernels/quant/grouped.hpp"
#include "tests/kernels/quant/frozen.hpp"

namespace triax {
namespace {

using test::elements;
using test::view;

constexpr std::int64_t inputs = 64, outputs = 24;

// As in make_quantized.py.
float field(int bits, std::int64_t input, std::int64_t output) {
  const std::int64_t i = input * outputs + output;
  return static_cast<float>((i * 2654435761 >> 7) % (1 << bits));
}

TEST(BitFields, AreFoundDownTheWords) {
  for (const auto& one : test::frozen()["bit_fields"]) {
    const int bits = one["bits"];
    auto words = elements<std::int32_t>(one["down"]);
    ASSERT_EQ(std::ssize(words), field_words(inputs, bits) * outputs);
    std::vector<float> found(inputs * outputs);
    unpack_fields_down(Stream{}, view(found).reshape({inputs, outputs}),
                       view(words).reshape({field_words(inputs, bits), outputs}), bits);
    for (std::int64_t i = 0; i < inputs; ++i)
      for (std::int64_t o = 0; o < outputs; ++o)
        ASSERT_EQ(found[static_cast<std::size_t>(i * outputs + o)], field(bits, i, o))
            << bits << " bits, " << i << ", " << o;
  }
}

// From any field on; what is added wraps around.
TEST(BitFields, AreFoundAcrossTheWords) {
  for (const auto& one : test::frozen()["bit_fields"]) {
    const int bits = one["bits"];
    auto words = elements<std::int32_t>(one["across"]);
    for (const std::int64_t first : {0, 1, 11, 17})
      for (const int added : {0, 1}) {
        const std::int64_t columns = outputs - first;
        std::vector<float> found(static_cast<std::size_t>(inputs * columns));
        unpack_fields_across(Stream{}, view(found).reshape({inputs, columns}),
                             view(words).reshape({inputs, field_words(outputs, bits)}), bits, first,
                             FieldOrder::natural, added);
        for (std::int64_t i = 0; i < inputs; ++i)
          for (std::int64_t c = 0; c < columns; ++c)
            ASSERT_EQ(found[static_cast<std::size_t>(i * columns + c)],
                      static_cast<float>((static_cast<int>(field(bits, i, first + c)) + added) %
                                         (1 << bits)))
                << bits << " bits, " << i << ", " << first + c;
      }
  }
}

TEST(BitFields, HaveTheOrderOfAwq) {
  auto words = elements<std::int32_t>(test::frozen()["awq"]);
  for (const std::int64_t first : {0, 3, 8}) {
    const std::int64_t columns = outputs - first;
    std::vector<float> found(static_cast<std::size_t>(inputs * columns));
    unpack_fields_across(Stream{}, view(found).reshape({inputs, columns}),
                         view(words).reshape({inputs, outputs / 8}), 4, first, FieldOrder::awq, 0);
    for (std::int64_t i = 0; i < inputs; ++i)
      for (std::int64_t c = 0; c < columns; ++c)
        ASSERT_EQ(found[static_cast<std::size_t>(i * columns + c)], field(4, i, first + c));
  }
}

TEST(Grouped, TakesTheScaleOfEachInputsGroup) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6}, zeros = {1, 2, 3, 4}, scales = {0.5, 1, 2, 4};
  std::vector<std::int32_t> groups = {1, 0, 1};
  scale_groups(Stream{}, view(values).reshape({3, 2}), view(zeros).reshape({2, 2}),
               view(scales).reshape({2, 2}), view(groups));
  EXPECT_EQ(values, (std::vector<float>{-4, -8, 1, 2, 4, 8}));
}

}  // namespace
}  // namespace triax
