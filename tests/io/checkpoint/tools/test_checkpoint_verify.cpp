// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_verify.hpp"

#include <random>

#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t block = integrity_block;

class CheckpointVerify : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<float> large(static_cast<std::size_t>(2 * block + 5), 0.25F);
    write_example(
        path_,
        {{"/model/large", DType::f32, {2 * block + 5}}, {"/model/small", DType::f32, {3, 2}}},
        {large, {1, 2, 3, 4, 5, 6}});
  }
  void flip(const std::string& tensor, std::int64_t byte, int bit) const {
    flip_bit(path_, hdf5::File(path_, hdf5::File::Mode::read).offset(tensor) + byte, bit);
  }
  TempDirectory dir_;
  std::string path_ = dir_.path("step-000050.h5");
};

TEST_F(CheckpointVerify, AWholeFileHasNoDamage) {
  const Verification result = verify_checkpoint(path_, MPI_COMM_NULL);
  EXPECT_TRUE(result.has_checksums);
  EXPECT_THAT(result.damaged, IsEmpty());
  EXPECT_EQ(result.bytes, (2 * block + 5 + 6) * 4);
  EXPECT_TRUE(require_whole(path_, MPI_COMM_NULL));
}

TEST_F(CheckpointVerify, DamageIsNamedByTensorBlockAndBytes) {
  flip("/model/large", 4 * block + 1, 3);
  flip("/model/large", 8 * block + 19, 7);
  flip("/model/small", 0, 0);
  const Verification result = verify_checkpoint(path_, MPI_COMM_NULL);
  EXPECT_THAT(result.damaged,
              ElementsAre(DamagedBlock{"/model/large", 1, 4 * block, 8 * block},
                          DamagedBlock{"/model/large", 2, 8 * block, 8 * block + 20},
                          DamagedBlock{"/model/small", 0, 0, 24}));
  EXPECT_EQ(text_of({{"/model/small", 0, 0, 24}}), "/model/small block 0, bytes 0 to 24");
  EXPECT_THAT(
      error_of([&] { require_whole(path_, MPI_COMM_NULL); }),
      AllOf(HasSubstr(path_ + " is damaged"), HasSubstr("3 of its blocks"),
            HasSubstr(fmt::format("/model/large block 1, bytes {} to {}", 4 * block, 8 * block)),
            HasSubstr("Use another checkpoint")));
}

// An export verifies only the weights that it reads.
TEST_F(CheckpointVerify, AGroupIsWholeWhateverOthersAre) {
  write_example(
      path_,
      {{"/model/small", DType::f32, {3, 2}}, {"/optimizer/exp_avg/small", DType::f32, {3, 2}}},
      {{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}});
  flip("/optimizer/exp_avg/small", 3, 1);
  EXPECT_TRUE(require_whole(path_, MPI_COMM_NULL, "/model/"));
  EXPECT_EQ(verify_checkpoint(path_, MPI_COMM_NULL, {}, "/model/").bytes, 24);
  EXPECT_THAT(error_of([&] { require_whole(path_, MPI_COMM_NULL); }), HasSubstr("exp_avg/small"));
  flip("/model/small", 3, 1);
  EXPECT_THAT(error_of([&] { require_whole(path_, MPI_COMM_NULL, "/model/"); }),
              HasSubstr("/model/small"));
}

TEST_F(CheckpointVerify, ProgressReachesItsTotal) {
  std::int64_t last = 0;
  std::int64_t whole = 0;
  verify_checkpoint(path_, MPI_COMM_NULL, [&](std::int64_t done, std::int64_t total) {
    EXPECT_GT(done, last);
    last = done;
    whole = total;
  });
  EXPECT_EQ(last, whole);
  EXPECT_EQ(whole, (2 * block + 5 + 6) * 4);
}

TEST(CheckpointVerifyText, NamesTenBlocks) {
  const std::vector<DamagedBlock> many(12, {"/model/w", 0, 0, 4});
  const std::string text = text_of(many);
  EXPECT_EQ(std::ranges::count(text, '\n'), 10);
  EXPECT_THAT(text, HasSubstr("and 2 more"));
}

// Flips bits at random offsets in the data of every tensor.
TEST(CheckpointVerifyFlips, EachOfTwoHundredBytesIsCaught) {
  const TempDirectory dir;
  const std::string path = dir.path("c.h5");
  const std::vector<CheckpointTensor> tensors = {{"/model/w", DType::f32, {40, 30}},
                                                 {"/model/b", DType::f32, {7}},
                                                 {"/optimizer/exp_avg/w", DType::f32, {40, 30}}};
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> values;
  for (const CheckpointTensor& tensor : tensors) {
    values.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
    for (float& value : values.back()) value = normal(random);
  }
  write_example(path, tensors, values);
  for (int i = 0; i < 200; ++i) {
    const CheckpointTensor& tensor = tensors[random() % tensors.size()];
    const std::int64_t base = hdf5::File(path, hdf5::File::Mode::read).offset(tensor.name);
    const auto byte =
        static_cast<std::int64_t>(random() % static_cast<std::size_t>(tensor.bytes()));
    const auto bit = static_cast<int>(random() % 8);
    flip_bit(path, base + byte, bit);
    const std::vector<DamagedBlock> damaged = verify_checkpoint(path, MPI_COMM_NULL).damaged;
    ASSERT_EQ(damaged.size(), 1U) << tensor.name << " byte " << byte << " bit " << bit;
    EXPECT_EQ(damaged.front().tensor, tensor.name);
    EXPECT_THAT(error_of([&] { require_whole(path, MPI_COMM_NULL); }), HasSubstr(tensor.name))
        << "what loading says";
    flip_bit(path, base + byte, bit);
  }
  EXPECT_THAT(verify_checkpoint(path, MPI_COMM_NULL).damaged, IsEmpty());
}

// Files of format 1, which has no checksums, are read unchecked.
TEST(CheckpointVerifyOld, FilesWithoutChecksumsOpen) {
  const TempDirectory dir;
  const std::string path = dir.path("old.h5");
  {
    hdf5::File file(path, hdf5::File::Mode::create);
    CheckpointHeader header = example_header();
    header.format_version = 1;
    write_header(file, header);
    file.create_dataset("/model/x", DType::f32, {1});
    file.close();
  }
  EXPECT_FALSE(CheckpointReader(path).has_checksums());
  EXPECT_FALSE(verify_checkpoint(path, MPI_COMM_NULL).has_checksums);
  EXPECT_FALSE(require_whole(path, MPI_COMM_NULL));
}

// Attributes and the list of tensors have checksums of their own.
TEST(CheckpointVerifyHeader, ChangedAttributesAreDamage) {
  const TempDirectory dir;
  const std::string path = dir.path("c.h5");
  const auto rewritten = [&](auto&& change) {
    write_example(path, {{"/model/x", DType::f32, {2}}}, {{1, 2}});
    {
      hdf5::File file(path, hdf5::File::Mode::create);
      CheckpointHeader header = example_header();
      const std::vector<CheckpointTensor> tensors = {{"/model/x", DType::f32, {2}}};
      create_integrity(file, header, tensors);
      change(file, header);
      write_header(file, header);
      file.close();
    }
    return error_of([&] { verify_checkpoint(path, MPI_COMM_NULL); });
  };
  EXPECT_THAT(rewritten([](hdf5::File& file, CheckpointHeader& header) {
                header.step = 51;
                file.create_dataset("/model/x", DType::f32, {2});
              }),
              AllOf(HasSubstr("is damaged"), HasSubstr("attributes")));
  EXPECT_THAT(rewritten([](hdf5::File& file, CheckpointHeader&) {
                file.create_dataset("/model/x", DType::i32, {2});
              }),
              AllOf(HasSubstr("is damaged"), HasSubstr("types")));
  EXPECT_THAT(rewritten([](hdf5::File& file, CheckpointHeader&) {
                file.create_dataset("/model/x", DType::f32, {2});
                file.create_dataset("/model/y", DType::f32, {2});
              }),
              AllOf(HasSubstr("is damaged"), HasSubstr("names")));
}

}  // namespace
}  // namespace triax
