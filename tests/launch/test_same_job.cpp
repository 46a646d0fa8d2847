// SPDX-License-Identifier: Apache-2.0
#include "src/launch/same_job.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "io/safetensors/safetensors.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Error if the last rank has the job `last` and the others `job`; with one rank, `job` alone.
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

// The case of a node with its own installation.
TEST_F(SameJob, AnotherProgramIsNamed) {
  EXPECT_THAT(this_program(), AllOf(HasSubstr("triax "), HasSubstr("commit "), HasSubstr("MPI: ")));
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  const bool is_last = world_rank() == world_size() - 1;
  EXPECT_THAT(error_of([&] {
                check_same_job(MPI_COMM_WORLD, job_facts(job(1e-3), is_last ? "new" : "old"));
              }),
              HasSubstr("program is \"new\" here, \"old\" on rank 0"));
}

// The case of shards that are still being written.
TEST_F(SameJob, AFileThatOneRankHasNotIsNamed) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  const LoadedJob first = job(1e-3);
  LoadedJob more = first;
  more.config.data.valid.push_back(read_golden("gpt2-tiny").directory + "/tokens.bin");
  EXPECT_THAT(refusal_of(first, more), HasSubstr("bytes\" here, absent on rank 0"));
}

// The case of a node with its own copy.
TEST_F(SameJob, AFileOfAnotherSizeIsNamed) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  const TempDirectory own;  // each rank has a file of its own under the same name
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

// A directory of this rank under a name that is the same on all ranks.
class OwnDirectory {
 public:
  OwnDirectory() {
    const int file = open(directory_.path().c_str(), O_RDONLY);
    EXPECT_EQ(dup2(file, 98), 98);
    close(file);
  }
  ~OwnDirectory() { close(98); }
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;
  std::string write(const std::string& name, const std::string& text) {
    directory_.file(name, text);
    return shared_name() + "/" + name;
  }
  static std::string shared_name() { return "/proc/self/fd/98"; }

 private:
  TempDirectory directory_;
};

bool is_last() {
  return world_rank() == world_size() - 1;
}

// The case of a node with its own copy of a Megatron pair or of published weights.
TEST_F(SameJob, FilesBesideTheNamedOnesAreCompared) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  OwnDirectory own;
  LoadedJob pair = job(1e-3);
  pair.config.data.train = {own.write("tokens.bin", "tokens")};
  own.write("tokens.idx", is_last() ? "index" : "another");
  EXPECT_THAT(refusal_of(pair, pair),
              HasSubstr("files.data./proc/self/fd/98/tokens.idx is \"5 bytes\" here, \"7 bytes\""));
  LoadedJob weights = job(1e-3);
  weights.config.model.weights = OwnDirectory::shared_name();
  own.write("model.safetensors.index.json",
            R"({"weight_map": {"a": "one", "b": "two", "c": "one"}})");
  own.write("one", "first");
  EXPECT_THAT(error_of([&] { check_same_job(MPI_COMM_WORLD, job_facts(weights)); }), "");
  own.write("two", is_last() ? "2" : "second");
  EXPECT_THAT(refusal_of(weights, weights),
              HasSubstr("files.weights./proc/self/fd/98/two is \"1 bytes\" here, \"6 bytes\""));
}

TEST_F(SameJob, WeightsThatAreNotThereAreSaid) {
  OwnDirectory own;
  LoadedJob none = job(1e-3);
  none.config.model.weights = OwnDirectory::shared_name();
  EXPECT_THAT(job_facts(none), HasSubstr("holds no weights"));
}

class SameData : public SameJob {
 protected:
  // Text of the error with one rank per node.
  static std::string refusal(const Config& config) {
    Config placed = config;
    placed.parallel.data = world_size();
    std::vector<int> nodes(static_cast<std::size_t>(world_size()));
    for (std::size_t r = 0; r < nodes.size(); ++r) nodes[r] = static_cast<int>(r);
    const ProcessGrid grid(MPI_COMM_WORLD, grid_shape(placed.parallel), nodes);
    return error_of([&] { check_same_data(grid, placed); });
  }
  // Text of the error with one rank per node and another file on the last rank.
  static std::string refusal(const std::string& text, const std::string& last) {
    OwnDirectory own;
    Config config;
    config.data.train = {own.write("text", is_last() ? last : text)};
    return refusal(config);
  }
};

TEST_F(SameData, OnEveryNodeIsNoError) {
  EXPECT_EQ(refusal("some text", "some text"), "");
}

TEST_F(SameData, OfTheSameSizeAndOtherBytesIsNamed) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  EXPECT_THAT(refusal("some text", "same text"),
              AllOf(HasSubstr("rank " + std::to_string(world_size() - 1)), HasSubstr("on "),
                    HasSubstr("data./proc/self/fd/98/text is \"9 bytes, checksum ")));
}

// The case of a node with a copy of a published model from another day.
TEST_F(SameData, OtherWeightsAreNamed) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  OwnDirectory own;
  Config config;
  config.model.weights = OwnDirectory::shared_name();
  own.write(safetensors_single_name, "some weights");
  EXPECT_EQ(refusal(config), "");
  own.write(safetensors_single_name, is_last() ? "same weights" : "some weights");
  EXPECT_THAT(refusal(config),
              HasSubstr("weights./proc/self/fd/98/model.safetensors is \"12 bytes"));
}

}  // namespace
}  // namespace triax::test
