#include "io/checkpoint_background.hpp"

#include <numeric>

#include "io/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t count = 3 << 20;

std::vector<float> indices() {
  std::vector<float> data(count);
  std::iota(data.begin(), data.end(), 0.0f);
  return data;
}

TEST(CheckpointSnapshot, HasRoomForWhatItWasMadeFor) {
  const Stream stream;
  std::vector<float> data(100, 1);
  const std::int64_t line = CheckpointSnapshot::footprint(4);
  EXPECT_EQ(CheckpointSnapshot::footprint(line), line);
  EXPECT_EQ(CheckpointSnapshot::footprint(line + 1), 2 * line);
  CheckpointSnapshot snapshot(line + CheckpointSnapshot::footprint(400));
  for (int round = 0; round < 2; ++round) {
    snapshot.add(stream, "/a", {{{0}, {1}}}, Tensor(data.data(), {1}));
    snapshot.add(stream, "/b", {{{0}, {100}}}, Tensor(data.data(), {100}));
    EXPECT_THAT(error_of([&] {
                  snapshot.add(stream, "/c", {{{0}, {1}}}, Tensor(data.data(), {1}));
                }),
                HasSubstr("no room"));
    snapshot.clear();
  }
}

// What changes after the copy does not reach the file.
TEST(BackgroundWrite, WritesWhatWasThereWhenItWasCopied) {
  const TempDirectory dir;
  for (const int files : {1, 3}) {
    const std::string path = checkpoint_path(dir.path(), files);
    std::vector<float> data = indices();
    CheckpointSnapshot snapshot(CheckpointSnapshot::footprint(count * 4));
    snapshot.add(Stream(), "/model/w", {{{0}, {count}}}, Tensor(data.data(), {count}));
    CheckpointWriter writer(path, MPI_COMM_NULL, {.files = files});
    writer.create(example_header(), {{"/model/w", DType::f32, {count}}});
    {
      BackgroundWrite background(writer, snapshot);
      std::ranges::fill(data, -1.0f);
      background.wait();
      EXPECT_TRUE(background.done());
    }
    writer.publish();
    EXPECT_TRUE(verify_checkpoint(path, MPI_COMM_NULL).damaged.empty());
    const CheckpointReader reader(path);
    std::vector<float> out(count);
    reader.read("/model/w", {{{0}, {count}}}, Tensor(out.data(), {count}));
    EXPECT_EQ(out, indices());
  }
}

TEST(BackgroundWrite, AFailureIsKeptForPublish) {
  const TempDirectory dir;
  std::vector<float> data = indices();
  CheckpointSnapshot snapshot(CheckpointSnapshot::footprint(count * 4));
  snapshot.add(Stream(), "/model/w", {{{0}, {count}}}, Tensor(data.data(), {count}));
  CheckpointWriter writer(checkpoint_path(dir.path(), 1), MPI_COMM_NULL);
  writer.create(example_header(), {{"/model/w", DType::f32, {count}}});
  {
    const FileSizeLimit limit(1 << 20);
    BackgroundWrite background(writer, snapshot);
    background.wait();
    EXPECT_TRUE(background.done());
  }
  EXPECT_THAT(error_of([&] { writer.publish(); }),
              AllOf(HasSubstr("was not written"), HasSubstr("too large")));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

// So many pieces that the thread takes some tenths of a second: it is told to stop long before.
TEST(BackgroundWrite, WhatIsGivenUpIsNotPublished) {
  const TempDirectory dir;
  constexpr int pieces = 100000;
  float one = 1;
  CheckpointSnapshot snapshot(pieces * CheckpointSnapshot::footprint(4));
  for (int i = 0; i < pieces; ++i)
    snapshot.add(Stream(), "/model/w", {{{i}, {1}}}, Tensor(&one, {1}));
  CheckpointWriter writer(checkpoint_path(dir.path(), 1), MPI_COMM_NULL);
  writer.create(example_header(), {{"/model/w", DType::f32, {pieces}}});
  { const BackgroundWrite background(writer, snapshot); }
  EXPECT_THAT(error_of([&] { writer.publish(); }),
              AllOf(HasSubstr("was not written"), HasSubstr("given up")));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace triax
