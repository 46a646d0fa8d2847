// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_memory.hpp"

#include <filesystem>

#include "tests/io/fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;

constexpr FileHints striped = {.striping_factor = 4, .striping_unit = 1 << 20};

// MPI_File_open would refuse the first path, and create "stray" for the second.
TEST(CreateEmpty, WithoutMpiIoWhereThePathHasAColon) {
  const TempDirectory dir;
  std::filesystem::create_directory(dir.path("a:b"));
  create_empty(dir.path("a:b/x.h5"), striped);
  EXPECT_TRUE(std::filesystem::exists(dir.path("a:b/x.h5")));
  EXPECT_NE(error_of([&] { create_empty("ufs:" + dir.path("stray"), striped); }), "");
  EXPECT_FALSE(std::filesystem::exists(dir.path("stray")));
}

TEST(CreateEmpty, MpiIoTakesPathsWithoutAColon) {
  EXPECT_TRUE(mpi_io_takes("/scratch/run/step-000001.h5"));
  EXPECT_FALSE(mpi_io_takes("/scratch/12:30/step-000001.h5"));
  EXPECT_FALSE(mpi_io_takes("nfs:run/step-000001.h5"));
}

}  // namespace
}  // namespace triax::hdf5
