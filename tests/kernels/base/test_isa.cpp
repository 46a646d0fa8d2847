#include "kernels/base/isa.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "kernels/base/check.hpp"
#include "tests/kernels/kind_of_code.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

TEST(Isa, BestIsWhatTheProcessorHas) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto has = [&](const char* feature) { return text.find(feature) != std::string::npos; };
  const bool avx512 = has(" avx512f") && has(" avx512bw") && has(" avx512cd") && has(" avx512dq") &&
                      has(" avx512vl");
  const Isa processor = !avx512 ? Isa::avx2 : has(" avx512_bf16") ? Isa::avx512_bf16 : Isa::avx512;
  EXPECT_LE(best_isa(), processor);
#if !defined(TRIAX_NATIVE)
  EXPECT_EQ(best_isa(), processor);
#endif
}

TEST(Isa, IsTheBestUnlessTheEnvironmentSaysOtherwise) {
  const char* const asked = std::getenv("TRIAX_ISA");
  EXPECT_EQ(name_of(isa_in_use()), asked != nullptr ? asked : name_of(best_isa()));
}

TEST(Isa, CanBeChanged) {
  const test::KindOfCode kind(Isa::avx2);
  EXPECT_EQ(isa_in_use(), Isa::avx2);
  use_isa(best_isa());
  EXPECT_EQ(isa_in_use(), best_isa());
}

TEST(Isa, BeyondTheBestIsRefused) {
  if (best_isa() == Isa::avx512_bf16) GTEST_SKIP() << "a processor with all kinds";
  const Isa before = isa_in_use();
  EXPECT_THAT([] { use_isa(Isa::avx512_bf16); },
              testing::ThrowsMessage<Error>(HasSubstr("cannot be used")));
  EXPECT_EQ(isa_in_use(), before);
}

TEST(Isa, NamesAndTextsDiffer) {
  EXPECT_EQ(name_of(Isa::avx2), "avx2");
  EXPECT_EQ(name_of(Isa::avx512), "avx512");
  EXPECT_EQ(name_of(Isa::avx512_bf16), "avx512_bf16");
  EXPECT_THAT(text_of(Isa::avx2), HasSubstr("code for "));
  EXPECT_NE(text_of(Isa::avx512), text_of(Isa::avx512_bf16));
}

}  // namespace
}  // namespace triax
