// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/paged/paged_attention.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/reference/cached_attention.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Sizes {
  std::int64_t H = 2, Hkv = 2, D = 16, T = 16;  // heads, head size, positions per page
  DType type = DType::f32;
};

// Queries, keys and values of all positions of one sequence.
struct Text {
  std::int64_t length;
  std::vector<float> q, k, v;
  Text(const Sizes& n, std::int64_t positions, unsigned seed)
      : length(positions),
        q(test::random_values(positions * n.H * n.D, seed)),
        k(test::random_values(positions * n.Hkv * n.D, seed + 1000)),
        v(test::random_values(positions * n.Hkv * n.D, seed + 2000)) {}
};

// A cache whose pages go to sequences in any order, as in the engine; pages begin as NaN.
class Pages {
 public:
  Pages(const Sizes& n, std::int64_t pages, unsigned seed)
      : n_(n),
        memory_(n.type,
                std::vector<float>(
                    static_cast<std::size_t>(paged_cache_shape(pages, n.Hkv, n.T, n.D).elements()),
                    nan)),
        order_(static_cast<std::size_t>(pages)) {
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), std::mt19937(seed));
    view_ = memory_.tensor(paged_cache_shape(pages, n.Hkv, n.T, n.D));
  }
  const Tensor& view() const { return view_; }
  std::vector<std::int32_t> table(std::int64_t positions) {
    std::vector<std::int32_t> pages;
    for (std::int64_t i = 0; i < positions; i += n_.T) {
      pages.push_back(order_.back());
      order_.pop_back();
    }
    return pages;
  }

 private:
  Sizes n_;
  test::Array memory_;
  Tensor view_;
  std::vector<std::int32_t> order_;
};

// Share of a sequence in one call: positions [past, past + rows) of a text.
struct Part {
  const Text* text;
  std::int64_t past, rows;
  const std::vector<std::int32_t>* table;
};

std::vector<float> step(const Sizes& n, const Pages& pages, const std::vector<Part>& parts,
                        const AttentionOptions& options) {
  std::vector<PagedChunk> chunks;
  std::vector<float> q, k, v;
  std::int64_t rows = 0, context = 0;
  for (const Part& part : parts) {
    const auto add = [&](std::vector<float>& to, const std::vector<float>& from, std::int64_t w) {
      to.insert(to.end(), from.begin() + part.past * w, from.begin() + (part.past + part.rows) * w);
    };
    add(q, part.text->q, n.H * n.D);
    add(k, part.text->k, n.Hkv * n.D);
    add(v, part.text->v, n.Hkv * n.D);
    chunks.push_back({rows, part.rows, part.past, part.table->data()});
    rows += part.rows;
    context = std::max(context, part.past + part.rows);
  }
  std::vector<float> out(q.size(), nan);
  const Shape queries{rows, n.H, n.D}, keys{rows, n.Hkv, n.D};
  const Stream stream(MemorySpace::host);
  store_pages(stream, pages.view(), n.T, Tensor(k.data(), keys), Tensor(v.data(), keys), chunks);
  const std::size_t bytes = paged_attention_scratch_bytes(queries, n.Hkv, context);
  const Buffer memory(bytes);
  Arena scratch(memory);
  paged_attention(stream, Tensor(out.data(), queries), Tensor(q.data(), queries), pages.view(), n.T,
                  chunks, options, scratch);
  EXPECT_EQ(scratch.used(), 0U);
  EXPECT_LE(scratch.high_water(), bytes);
  return out;
}

// The whole text in one call.
std::vector<float> whole(const Sizes& n, const Text& text, const AttentionOptions& options) {
  Pages pages(n, text.length / n.T + 1, 1);
  const auto table = pages.table(text.length);
  return step(n, pages, {{&text, 0, text.length, &table}}, options);
}

std::vector<double> doubles(DType type, const std::vector<float>& values) {
  return test::Array(type, values).doubles();
}

void expect_like_reference(const Sizes& n, std::int64_t length, std::int64_t window,
                           float soft_cap) {
  SCOPED_TRACE(fmt::format("H {} Hkv {} D {} page {} length {} window {} cap {}", n.H, n.Hkv, n.D,
                           n.T, length, window, soft_cap));
  const Text text(n, length, 7);
  AttentionOptions options;
  options.scale = 1.0F / std::sqrt(static_cast<float>(n.D));
  options.window = window;
  options.soft_cap = soft_cap;
  const auto found = whole(n, text, options);
  const auto expected = reference::cached_attention(
      {1, length, length, n.H, n.Hkv, n.D}, doubles(DType::f32, text.q), doubles(n.type, text.k),
      doubles(n.type, text.v), options.scale, {window, soft_cap});
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 4e-6) << i;
}

TEST(PagedAttention, IsAttention) {
  for (const std::int64_t length : {1, 15, 16, 17, 130, 300})
    expect_like_reference({}, length, 0, 0.0F);
  for (const std::int64_t D : {1, 8, 17, 64, 80, 129})
    expect_like_reference({2, 2, D}, 70, 0, 0.0F);
  for (const std::int64_t page : {16, 32, 64, 128})
    expect_like_reference({2, 1, 24, page}, 200, 0, 0.0F);
}

TEST(PagedAttention, GroupsWindowsAndSoftCaps) {
  for (const auto& [H, Hkv] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 2}, {6, 2}, {5, 1}, {40, 1}})
    expect_like_reference({H, Hkv, 16}, 90, 0, 0.0F);
  for (const std::int64_t window : {1, 7, 16, 100, 128, 200})
    expect_like_reference({2, 1, 16}, 300, window, 0.0F);
  expect_like_reference({2, 1, 16}, 100, 0, 2.0F);
  expect_like_reference({2, 1, 16}, 100, 20, 2.0F);
}

TEST(PagedAttention, LongTextsAndBf16) {
  expect_like_reference({1, 1, 8}, 2100, 0, 0.0F);
  expect_like_reference({1, 1, 8}, 2100, 1500, 0.0F);
  expect_like_reference({4, 2, 32, 16, DType::bf16}, 150, 0, 0.0F);
}

// Random chunks in random company give the bits of the whole text alone.
class InAnyCompany : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {};
INSTANTIATE_TEST_SUITE_P(Types, InAnyCompany,
                         testing::Combine(testing::Values(DType::f32, DType::bf16),
                                          testing::Values(0, 50)));

TEST_P(InAnyCompany, RowsHaveTheSameBits) {
  const auto [type, window] = GetParam();
  const Sizes n{4, 2, 16, 16, type};
  AttentionOptions options;
  options.scale = 0.3F;
  options.window = window;
  const std::vector<Text> texts = {{n, 1, 1}, {n, 40, 2}, {n, 200, 3}, {n, 2300, 4}};
  std::vector<std::vector<float>> expected;
  for (const Text& text : texts) expected.push_back(whole(n, text, options));
  std::mt19937 random(5);
  const int threads = omp_get_max_threads();
  for (int round = 0; round < 3; ++round) {
    Pages pages(n, 200, random());
    std::vector<std::vector<std::int32_t>> tables;
    for (const Text& text : texts) tables.push_back(pages.table(text.length));
    std::vector<std::int64_t> done(texts.size());
    for (bool more = true; more;) {
      std::vector<Part> parts;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::int64_t left = texts[i].length - done[i];
        if (left == 0 || random() % 3 == 0) continue;
        const std::int64_t most = random() % 2 == 0 ? 3 : 700;
        parts.push_back(
            {&texts[i], done[i],
             std::min<std::int64_t>(left, 1 + static_cast<std::int64_t>(random()) % most),
             &tables[i]});
      }
      omp_set_num_threads(1 + static_cast<int>(random() % 3));
      const std::vector<float> found = step(n, pages, parts, options);
      const float* at = found.data();
      for (const Part& part : parts) {
        const auto which = static_cast<std::size_t>(part.text - texts.data());
        const std::int64_t width = n.H * n.D;
        ASSERT_TRUE(
            std::equal(at, at + part.rows * width, expected[which].begin() + part.past * width))
            << "text " << which << ", " << part.rows << " from " << part.past;
        at += part.rows * width;
        done[which] += part.rows;
      }
      more = false;
      for (std::size_t i = 0; i < texts.size(); ++i) more = more || done[i] < texts[i].length;
    }
  }
  omp_set_num_threads(threads);
}

}  // namespace
}  // namespace triax
