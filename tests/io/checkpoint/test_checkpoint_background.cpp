// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_background.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <semaphore>
#include <thread>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::int64_t count = 3 << 20;

std::vector<float> indices() {
  std::vector<float> data(count);
  std::iota(data.begin(), data.end(), 0.0f);
  return data;
}

TEST(CheckpointSnapshot, HasRoomForWhatItWasMadeFor) {
  std::vector<float> data(100, 1);
  const std::int64_t line = CheckpointSnapshot::footprint(4);
  EXPECT_EQ(CheckpointSnapshot::footprint(line), line);
  EXPECT_EQ(CheckpointSnapshot::footprint(line + 1), 2 * line);
  CheckpointSnapshot snapshot(line + CheckpointSnapshot::footprint(400));
  for (int round = 0; round < 2; ++round) {
    snapshot.add("/a", {{{0}, {1}}}, Tensor(data.data(), {1}));
    snapshot.add("/b", {{{0}, {100}}}, Tensor(data.data(), {100}));
    EXPECT_THAT(error_of([&] {
                  snapshot.add("/c", {{{0}, {1}}}, Tensor(data.data(), {1}));
                }),
                HasSubstr("no room"));
    snapshot.clear();
  }
}

TEST(CheckpointSnapshot, LargePiecesLieInTheirPagesAsInTheFile) {
  std::vector<float> data(std::size_t{1} << 15, 2.0f);
  const auto count = std::ssize(data);
  CheckpointSnapshot snapshot(3 * CheckpointSnapshot::footprint(count * 4));
  const std::map<std::string, std::int64_t> offsets = {{"/a", 100}, {"/b", 8188}, {"/c", 4096}};
  for (const auto& [name, offset] : offsets)
    snapshot.add(name, {{{0}, {count}}}, Tensor(data.data(), {count}));
  snapshot.copy(Stream(), [&](const std::string& name, const std::vector<hdf5::Box>&) {
    return offsets.at(name);
  });
  snapshot.each([&](const std::string& name, const std::vector<hdf5::Box>&, const Tensor& copy) {
    EXPECT_EQ((reinterpret_cast<std::intptr_t>(copy.data()) - offsets.at(name)) % 4096, 0) << name;
    EXPECT_EQ(copy.elements(), count);
  });
}

TEST(CheckpointSnapshot, CopiesWhatWasAddedWhenItIsTold) {
  const Stream stream;
  CheckpointSnapshot snapshot(3 * CheckpointSnapshot::footprint(8));
  const auto copied = [&] {
    std::vector<std::pair<std::string, float>> found;
    snapshot.each(
        [&](const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) {
          EXPECT_EQ(data.elements(), hdf5::elements(boxes));
          found.emplace_back(name, data.as<float>()[data.elements() - 1]);
        });
    return found;
  };
  std::vector<float> data = {1, 2};
  snapshot.add("/a", {{{0}, {2}}}, Tensor(data.data(), {2}));
  snapshot.add("/b", {{{0}, {2}}}, DType::f32, [&](const Stream& own, const Tensor& to) {
    for (int i = 0; i < 2; ++i) copy(own, to.slice(0, i, 1), Tensor(data.data() + (1 - i), {1}));
  });
  EXPECT_THAT(error_of(copied), HasSubstr("0 of them copied"));
  data = {3, 4};
  snapshot.copy(stream);
  data = {5, 6};
  EXPECT_THAT(copied(), ElementsAre(Pair("/a", 4), Pair("/b", 3)));
  snapshot.add("/c", {{{0}, {1}}}, Tensor(data.data(), {1}));
  EXPECT_THAT(error_of(copied), HasSubstr("2 of them copied"));
  snapshot.copy(stream);
  EXPECT_THAT(copied(), ElementsAre(Pair("/a", 4), Pair("/b", 3), Pair("/c", 5)));
  snapshot.clear();
  EXPECT_TRUE(copied().empty());
}

// Changes after the copy do not reach the file.
TEST(BackgroundWrite, WritesWhatWasThereUntilItWasCopied) {
  const TempDirectory dir;
  for (const int files : {1, 3}) {
    const std::string path = checkpoint_path(dir.path(), files);
    std::vector<float> data = indices();
    CheckpointSnapshot snapshot(CheckpointSnapshot::footprint(count * 4));
    snapshot.add("/model/w", {{{0}, {count}}}, Tensor(data.data(), {count}));
    CheckpointWriter writer(path, MPI_COMM_NULL, {.files = files});
    writer.create(example_header(), {{"/model/w", DType::f32, {count}}});
    {
      BackgroundWrite background(writer, snapshot);
      background.wait_copied();
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

// The copy is held back; a change of its source must wait for it.
TEST(BackgroundWrite, WhoChangesTheStateWaitsForTheCopy) {
  const TempDirectory dir;
  const std::string path = checkpoint_path(dir.path(), 1);
  std::vector<float> data = indices();
  std::binary_semaphore held(0), gate(0);
  CheckpointSnapshot snapshot(CheckpointSnapshot::footprint(count * 4));
  snapshot.add("/model/w", {{{0}, {count}}}, DType::f32,
               [&](const Stream& stream, const Tensor& to) {
                 held.release();
                 gate.acquire();
                 copy(stream, to, Tensor(data.data(), {count}));
               });
  CheckpointWriter writer(path, MPI_COMM_NULL);
  writer.create(example_header(), {{"/model/w", DType::f32, {count}}});
  BackgroundWrite background(writer, snapshot);
  held.acquire();
  EXPECT_FALSE(background.done());
  std::binary_semaphore wants(0);
  std::atomic<bool> changed = false;
  std::thread step([&] {
    wants.release();
    background.wait_copied();
    std::ranges::fill(data, -1.0f);
    changed = true;
  });
  wants.acquire();
  // A change that does not wait would happen in this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(changed);
  gate.release();
  step.join();
  background.wait();
  writer.publish();
  const CheckpointReader reader(path);
  std::vector<float> out(count);
  reader.read("/model/w", {{{0}, {count}}}, Tensor(out.data(), {count}));
  EXPECT_EQ(out, indices());
}

TEST(BackgroundWrite, AFailureIsKeptForPublish) {
  const TempDirectory dir;
  std::vector<float> data = indices();
  CheckpointSnapshot snapshot(CheckpointSnapshot::footprint(count * 4));
  snapshot.add("/model/w", {{{0}, {count}}}, Tensor(data.data(), {count}));
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

// The pieces take the thread some tenths of a second; it is told to stop long before.
TEST(BackgroundWrite, WhatIsGivenUpIsNotPublished) {
  const TempDirectory dir;
  constexpr int pieces = 100000;
  float one = 1;
  CheckpointSnapshot snapshot(pieces * CheckpointSnapshot::footprint(4));
  for (int i = 0; i < pieces; ++i) snapshot.add("/model/w", {{{i}, {1}}}, Tensor(&one, {1}));
  CheckpointWriter writer(checkpoint_path(dir.path(), 1), MPI_COMM_NULL);
  writer.create(example_header(), {{"/model/w", DType::f32, {pieces}}});
  { const BackgroundWrite background(writer, snapshot); }
  EXPECT_THAT(error_of([&] { writer.publish(); }),
              AllOf(HasSubstr("was not written"), HasSubstr("given up")));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace triax
