#include "src/train/same_job.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The last rank's job is another, where there are more.
std::string refusal_of(const LoadedJob& job, const LoadedJob& last) {
  const bool is_last = world_rank() == world_size() - 1;
  return error_of([&] { check_same_job(MPI_COMM_WORLD, job_facts(is_last ? last : job)); });
}

class SameJob : public testing::Test {
 protected:
  SameJob() {
    if (world_rank() == 0) std::ofstream(text_) << std::string(1000, 'a');
    MPI_Barrier(MPI_COMM_WORLD);
  }
  LoadedJob job(double rate) const {
    auto json = golden_job(read_golden("gpt2-tiny"), {});
    json["optimizer"]["params"]["lr"] = rate;
    json["data"]["train"] = {text_};
    return load(json, 1);
  }
  SharedDirectory directory_;
  std::string text_ = directory_.path("text");
};

TEST_F(SameJob, OnEveryRankIsNoError) {
  EXPECT_NO_THROW(check_same_job(MPI_COMM_WORLD, job_facts(job(1e-3))));
}

TEST_F(SameJob, AnotherKeyIsNamedWithItsRank) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  EXPECT_THAT(refusal_of(job(1e-3), job(2e-3)),
              AllOf(HasSubstr("rank " + std::to_string(world_size() - 1)),
                    HasSubstr("job.optimizer.params.lr is 0.002 here, 0.001 on rank 0"),
                    Not(HasSubstr("data."))));
  try {
    check_same_job(MPI_COMM_WORLD, job_facts(job(world_rank() + 1)));
    ADD_FAILURE() << "ranks with other jobs";
  } catch (const UsageError&) {
    ADD_FAILURE() << "of which a batch job would never be run again";
  } catch (const Error&) {
  }
}

// As where shards are still being written.
TEST_F(SameJob, AFileThatOneRankHasNotIsNamed) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  const LoadedJob first = job(1e-3);
  LoadedJob more = first;
  more.config.data.valid.push_back(read_golden("gpt2-tiny").directory + "/tokens.bin");
  EXPECT_THAT(refusal_of(first, more), HasSubstr("bytes\" here, absent on rank 0"));
}

// As where a node has a copy of its own.
TEST_F(SameJob, AFileOfAnotherSizeIsNamed) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  const TempDirectory own;  // the same name leads to another file on each rank
  const LoadedJob all = [&] {
    LoadedJob found = job(1e-3);
    found.config.data.train = {fmt::format("/proc/self/fd/{}", 99)};
    return found;
  }();
  const int file =
      open(own.file("copy", std::string(static_cast<std::size_t>(world_rank()) + 1, 'a')).c_str(),
           O_RDONLY);
  ASSERT_EQ(dup2(file, 99), 99);
  close(file);
  EXPECT_THAT(refusal_of(all, all), HasSubstr("is \"2 bytes\" here, \"1 bytes\" on rank 0"));
  close(99);
}

class SameData : public SameJob {
 protected:
  // With a node for each rank, and a file that is another on the last of them.
  std::string refusal(const std::string& text, const std::string& last) const {
    const bool is_last = world_rank() == world_size() - 1;
    const TempDirectory own;
    DataConfig data;
    data.train = {"/proc/self/fd/99"};  // the same name leads to another file on each rank
    const int file = open(own.file("copy", is_last ? last : text).c_str(), O_RDONLY);
    EXPECT_EQ(dup2(file, 99), 99);
    close(file);
    Config config;
    config.parallel.data = world_size();
    std::vector<int> nodes(static_cast<std::size_t>(world_size()));
    for (std::size_t r = 0; r < nodes.size(); ++r) nodes[r] = static_cast<int>(r);
    const ProcessGrid grid(MPI_COMM_WORLD, grid_shape(config.parallel), nodes);
    const std::string refusal = error_of([&] { check_same_data(grid, data); });
    close(99);
    return refusal;
  }
};

TEST_F(SameData, OnEveryNodeIsNoError) {
  EXPECT_EQ(refusal("some text", "some text"), "");
}

TEST_F(SameData, OfTheSameSizeAndOtherBytesIsNamed) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  EXPECT_THAT(refusal("some text", "same text"),
              AllOf(HasSubstr("rank " + std::to_string(world_size() - 1)), HasSubstr("on "),
                    HasSubstr("data./proc/self/fd/99 is \"9 bytes, checksum ")));
}

}  // namespace
}  // namespace triax::test
