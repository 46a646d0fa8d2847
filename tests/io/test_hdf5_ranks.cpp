#include <numeric>

#include "io/hdf5.hpp"
#include "tests/io/rank_fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;

std::vector<float> iota(std::int64_t n) {
  std::vector<float> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0.0f);
  return out;
}

void expect_whole(const std::string& path, const std::string& name, const Shape& shape) {
  const File file(path, File::Mode::read);
  EXPECT_EQ(file.shape(name), shape);
  std::vector<float> out(static_cast<std::size_t>(shape.elements()));
  file.read(name, {{{}, shape}}, Tensor(out.data(), shape));
  EXPECT_EQ(out, iota(shape.elements())) << name;
}

// A row-parallel weight: the ranks hold columns, whose elements interleave in the file.
TEST(Hdf5Ranks, ColumnSlabsInterleave) {
  const SharedDirectory dir;
  const std::int64_t ranks = world_size();
  const Shape shape{5, 3 * ranks};
  File file(dir.path("c.h5"), File::Mode::create, MPI_COMM_WORLD);
  file.create_dataset("/model/w", DType::f32, shape);
  std::vector<float> mine;
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t column = 0; column < 3; ++column)
      mine.push_back(static_cast<float>(row * 3 * ranks + 3 * world_rank() + column));
  file.write("/model/w", {{{0, 3 * world_rank()}, {5, 3}}}, Tensor(mine.data(), {5, 3}));
  file.close();
  expect_whole(dir.path("c.h5"), "/model/w", shape);
}

// ZeRO shards: flat ranges that begin and end within rows.
TEST(Hdf5Ranks, FlatRangesMeetWithinRows) {
  const SharedDirectory dir;
  const std::int64_t ranks = world_size();
  File file(dir.path("f.h5"), File::Mode::create, MPI_COMM_WORLD);
  const std::vector<Shape> shapes = {{7, 5}, {11}, {2, 3, 5}};
  for (const Shape& shape : shapes) {
    const std::string name = "/d" + std::to_string(shape.rank());
    file.create_dataset(name, DType::f32, shape);
    const std::int64_t n = shape.elements();
    const std::int64_t begin = n * world_rank() / ranks;
    const std::int64_t end = n * (world_rank() + 1) / ranks;
    std::vector<float> all = iota(n);
    file.write(name, flat_range_boxes(shape, begin, end),
               Tensor(all.data() + begin, {end - begin}));
  }
  file.close();
  for (const Shape& shape : shapes)
    expect_whole(dir.path("f.h5"), "/d" + std::to_string(shape.rank()), shape);
}

// The same number of writes is not asked of every rank.
TEST(Hdf5Ranks, WritesAreIndependent) {
  const SharedDirectory dir;
  File file(dir.path("i.h5"), File::Mode::create, MPI_COMM_WORLD);
  file.create_dataset("/w", DType::f32, {4});
  std::vector<float> all = iota(4);
  if (world_rank() == world_size() - 1)
    for (std::int64_t i = 0; i < 4; ++i)
      file.write("/w", {{{i}, {1}}}, Tensor(all.data() + i, {1}));
  file.close();
  expect_whole(dir.path("i.h5"), "/w", {4});
}

TEST(Hdf5Ranks, AttributesAreWrittenTogether) {
  const SharedDirectory dir;
  const std::string large(100'000, 'x');
  File file(dir.path("a.h5"), File::Mode::create, MPI_COMM_WORLD);
  file.write_attribute("/", "large", large);
  file.write_attribute("/", "step", std::int64_t{5});
  file.close();
  const File read(dir.path("a.h5"), File::Mode::read, MPI_COMM_WORLD);
  EXPECT_EQ(read.string_attribute("/", "large"), large);
  EXPECT_EQ(read.integer_attribute("/", "step"), 5);
}

}  // namespace
}  // namespace triax::hdf5
