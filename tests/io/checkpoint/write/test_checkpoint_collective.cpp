// SPDX-License-Identifier: Apache-2.0
// A collective write gives the same file as independent writes.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <numeric>
#include <optional>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "io/checkpoint/write/segment_writer.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t rows = 3000;  // its columns take more than one round
constexpr std::int64_t columns = 4099;
constexpr std::int64_t large = 3'000'005;  // long segments
const std::vector<CheckpointTensor> tensors = {{"/model/columns", DType::f32, {rows, columns}},
                                               {"/model/flat", DType::f32, {large}},
                                               {"/model/last", DType::f32, {7}}};

// Each rank writes its columns and its share of a flat array; only the last rank writes a third
// tensor.
void write_part(CheckpointWriter& writer) {
  const std::int64_t n = world_size();
  const std::int64_t r = world_rank();
  const std::int64_t first = columns * r / n;
  const std::int64_t width = columns * (r + 1) / n - first;
  std::vector<float> part(static_cast<std::size_t>(rows * width));
  for (std::int64_t i = 0; i < rows * width; ++i)
    part[static_cast<std::size_t>(i)] = static_cast<float>(i / width * columns + first + i % width);
  writer.write("/model/columns", {{{0, first}, {rows, width}}},
               Tensor(part.data(), {rows * width}));
  const std::int64_t begin = large * r / n;
  const std::int64_t end = large * (r + 1) / n;
  std::vector<float> flat(static_cast<std::size_t>(end - begin));
  std::iota(flat.begin(), flat.end(), static_cast<float>(begin % 1000));
  writer.write("/model/flat", {{{begin}, {end - begin}}}, Tensor(flat.data(), {end - begin}));
  std::vector<float> last(7, 7.0f);
  if (r == n - 1) writer.write("/model/last", {{{0}, {7}}}, Tensor(last.data(), {7}));
}

std::vector<float> read(const std::string& path, const CheckpointTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.shape.elements()));
  CheckpointReader(path).read(tensor.name, {{{}, tensor.shape}}, Tensor(out.data(), tensor.shape));
  return out;
}

TEST(CheckpointCollective, WritesWhatEachRankWrites) {
  const SharedDirectory dir;
  const auto write = [&](const char* name, const CheckpointOptions& options) {
    const std::string path = dir.path(name);
    CheckpointWriter writer(path, MPI_COMM_WORLD, options);
    writer.create(example_header(), tensors);
    write_part(writer);
    writer.publish();
    return path;
  };
  const std::string alone = write("step-000001.h5", {});
  // The third case has one owner of everything, which receives more than one step's weight.
  const std::vector<CheckpointOptions> ways = {
      {.collective = true},
      {.files = 3, .collective = true},
      {.hints = {.striping_unit = std::int64_t{1} << 30}, .collective = true},
      {.hints = {.striping_unit = collective_bytes / 2}, .collective = true}};
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const std::string together = write(fmt::format("step-{:06}.h5", way + 2).c_str(), ways[way]);
    EXPECT_TRUE(verify_checkpoint(together, MPI_COMM_WORLD).damaged.empty());
    for (const CheckpointTensor& tensor : tensors)
      EXPECT_EQ(read(together, tensor), read(alone, tensor)) << tensor.name;
  }
}

// If one rank cannot share memory, all ranks use messages, and still fail together.
TEST(CheckpointCollective, IsTheSameWhereOneCannotShareMemory) {
  const SharedDirectory dir;
  const auto body = [&] {
    CheckpointWriter writer(dir.path("step-000001.h5"), MPI_COMM_WORLD, {.collective = true});
    writer.create(example_header(), tensors);
    write_part(writer);
    writer.publish();
    CheckpointWriter failing(dir.path("step-000002.h5"), MPI_COMM_WORLD, {.collective = true});
    failing.create(example_header(), tensors);
    std::optional<FileSizeLimit> limit;
    if (world_rank() == world_size() - 1) limit.emplace(4096);
    write_part(failing);
    EXPECT_THAT(error_of([&] { failing.publish(); }),
                AllOf(HasSubstr("was not written"), HasSubstr("too large")));
  };
  if (world_rank() == world_size() - 1)
    with_refused(SYS_memfd_create, {}, EPERM, body);
  else
    body();
  {
    CheckpointWriter alone(dir.path("step-000003.h5"), MPI_COMM_WORLD);
    alone.create(example_header(), tensors);
    write_part(alone);
    alone.publish();
  }
  for (const CheckpointTensor& tensor : tensors)
    EXPECT_EQ(read(dir.path("step-000001.h5"), tensor), read(dir.path("step-000003.h5"), tensor));
}

// Limits the process's address space to `bytes` more than it uses, for the object's lifetime.
class RoomForMore {
 public:
  explicit RoomForMore(std::int64_t bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes);
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~RoomForMore() { ::setrlimit(RLIMIT_AS, &before_); }
  RoomForMore(const RoomForMore&) = delete;
  RoomForMore& operator=(const RoomForMore&) = delete;

 private:
  rlimit before_{};
};

// Shared memory does not take address space that a rank needs: the ranks do without it.
TEST(CheckpointCollective, ARankWithLittleRoomWritesWithWhatItHas) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer needs all addresses";
#endif
  if (world_size() == 1) GTEST_SKIP() << "nothing is shared";
  const SharedDirectory dir;
  const auto write = [&] {
    CheckpointWriter writer(dir.path("step-000001.h5"), MPI_COMM_WORLD, {.collective = true});
    writer.create(example_header(), tensors);
    write_part(writer);
    writer.publish();
  };
  write();  // grows the heap to the size it needs
  // From the memory that writing needs up to more than all shared memory as well.
  constexpr std::int64_t step = std::int64_t{4} << 20;
  const std::int64_t least = independent_bytes + collective_library_bytes;
  const std::int64_t most = least + 2 * collective_bytes / 3 * world_size() + 3 * step;
  for (std::int64_t bytes = least; bytes <= most; bytes += step) {
    std::optional<RoomForMore> room;
    if (world_rank() == 0) room.emplace(bytes);
    EXPECT_NO_THROW(write()) << bytes;
  }
}

// One rank has nothing to write and waits for the others in publish().
TEST(CheckpointCollective, AFailureOfOneIsAnErrorOnAll) {
  const SharedDirectory dir;
  {
    CheckpointWriter writer(dir.path("step-000001.h5"), MPI_COMM_WORLD, {.collective = true});
    writer.create(example_header(), tensors);
    if (world_rank() == world_size() - 1) writer.fail("the disk of the moments is gone");
    write_part(writer);
    EXPECT_THAT(error_of([&] { writer.publish(); }),
                AllOf(HasSubstr("was not written"), HasSubstr("moments is gone")));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

// The rounds go on until no rank has data.
TEST(CheckpointCollective, ADiskThatFailsUnderOneIsAnErrorOnAll) {
  const SharedDirectory dir;
  {
    CheckpointWriter writer(dir.path("step-000001.h5"), MPI_COMM_WORLD, {.collective = true});
    writer.create(example_header(), tensors);
    {
      std::optional<FileSizeLimit> limit;
      if (world_rank() == world_size() - 1) limit.emplace(4096);
      write_part(writer);
      EXPECT_THAT(error_of([&] { writer.publish(); }),
                  AllOf(HasSubstr("was not written"), HasSubstr("too large")));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(CheckpointCollective, AFullDiskIsAnErrorOnAll) {
  const SharedDirectory dir;
  const FileSizeLimit limit(1 << 20);
  EXPECT_THAT(error_of([&] {
                CheckpointWriter writer(dir.path("step-000001.h5"), MPI_COMM_WORLD,
                                        {.collective = true});
                writer.create(example_header(), tensors);
              }),
              HasSubstr("no room"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace triax
