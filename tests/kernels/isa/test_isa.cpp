// SPDX-License-Identifier: Apache-2.0
#include "kernels/isa/isa.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "kernels/base/check.hpp"
#include "tests/kernels/kind_of_code.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

// Whether the operating system permits AMX tiles. The program requested them at start.
bool leave_for_tiles() {
#ifdef __x86_64__
  constexpr long permitted_states = 0x1022;  // ARCH_GET_XCOMP_PERM
  std::uint64_t states = 0;
  return syscall(SYS_arch_prctl, permitted_states, &states) == 0 && (states >> 18U & 1U) == 1;
#else
  return false;
#endif
}

TEST(Isa, BestIsWhatTheProcessorHas) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto has = [&](const char* feature) { return text.find(feature) != std::string::npos; };
  const bool avx512 = has(" avx512f") && has(" avx512bw") && has(" avx512cd") && has(" avx512dq") &&
                      has(" avx512vl");
  const bool pairs = avx512 && has(" avx512_bf16");
  const bool tiles = pairs && has(" amx_tile") && has(" amx_bf16") && leave_for_tiles();
  const Isa processor = tiles    ? Isa::avx512_amx
                        : pairs  ? Isa::avx512_bf16
                        : avx512 ? Isa::avx512
                                 : Isa::avx2;
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
  if (best_isa() == Isa::avx512_amx) GTEST_SKIP() << "a processor with all kinds";
  const Isa before = isa_in_use();
  EXPECT_THAT([] { use_isa(Isa::avx512_amx); },
              testing::ThrowsMessage<Error>(HasSubstr("cannot be used")));
  EXPECT_EQ(isa_in_use(), before);
}

TEST(Isa, NamesAndTextsDiffer) {
  EXPECT_EQ(name_of(Isa::avx2), "avx2");
  EXPECT_EQ(name_of(Isa::avx512), "avx512");
  EXPECT_EQ(name_of(Isa::avx512_bf16), "avx512_bf16");
  EXPECT_EQ(name_of(Isa::avx512_amx), "avx512_amx");
  EXPECT_THAT(text_of(Isa::avx2), HasSubstr("code for "));
  EXPECT_NE(text_of(Isa::avx512), text_of(Isa::avx512_bf16));
}

}  // namespace
}  // namespace triax
