// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/isa_of_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/kind_of_code.hpp"

namespace triax {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(IsaOfJob, IsTheLastThatAllHave) {
  EXPECT_EQ(common_isa(std::array{0, 0, 0, 4}), Isa::avx512_amx);
  EXPECT_EQ(common_isa(std::array{0, 0, 1, 3}), Isa::avx512_bf16);
  EXPECT_EQ(common_isa(std::array{0, 1, 0, 3}), Isa::avx512);
  EXPECT_EQ(common_isa(std::array{1, 0, 2, 1}), Isa::avx2);
  EXPECT_EQ(common_isa(std::array{4, 0, 0, 0}), Isa::avx2);
}

TEST(IsaOfJob, RanksWithTheSameSayNoMore) {
  const test::KindOfCode kind(Isa::avx2);
  EXPECT_EQ(agree_on_isa(MPI_COMM_WORLD), text_of(Isa::avx2));
}

TEST(IsaOfJob, OneRankWithLessIsFollowed) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const test::KindOfCode kind(rank == size - 1 ? Isa::avx2 : best_isa());
  const std::string text = agree_on_isa(MPI_COMM_WORLD);
  EXPECT_EQ(isa_in_use(), Isa::avx2);
  if (size > 1 && best_isa() > Isa::avx2)
    EXPECT_EQ(text, fmt::format("{}, since 1 of {} ranks have no more", text_of(Isa::avx2), size));
  else
    EXPECT_THAT(text, Not(HasSubstr("since")));
}

}  // namespace
}  // namespace triax
