// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_average.hpp"

#include <cmath>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

class CheckpointAverage : public testing::Test {
 protected:
  std::string write(const std::string& name, std::int64_t step,
                    std::vector<std::vector<float>> values, const Shape& shape = {2, 2},
                    const std::string& model = "{}") const {
    CheckpointHeader header = example_header();
    header.step = step;
    header.model = model;
    write_example(dir_.path(name),
                  {{"/model/w", DType::f32, shape}, {"/optimizer/exp_avg/w", DType::f32, shape}},
                  std::move(values), header);
    return dir_.path(name);
  }
  std::vector<float> weights_of(const std::string& file, const std::string& tensor) const {
    const CheckpointReader reader(file);
    std::vector<float> values(static_cast<std::size_t>(reader.shape(tensor).elements()));
    reader.read(tensor, {{{}, reader.shape(tensor)}}, Tensor(values.data(), reader.shape(tensor)));
    return values;
  }
  TempDirectory dir_;
  std::string out_ = dir_.path("mean.h5");
  std::string a_ = write("a.h5", 50, {{1, 2, 3, 4}, {9, 9, 9, 9}});
  std::string b_ = write("b.h5", 80, {{3, 2, 5, -4}, {9, 9, 9, 9}});
};

TEST_F(CheckpointAverage, IsTheMeanOfTheWeightsAlone) {
  const AverageSummary sum = average_checkpoints({a_, b_}, {}, out_, Existing::kept, MPI_COMM_NULL);
  EXPECT_EQ(sum.tensors, 1);
  EXPECT_EQ(sum.bytes, 16);
  EXPECT_THAT(weights_of(out_, "/model/w"), ElementsAre(2, 2, 4, 0));
  const CheckpointReader reader(out_);
  EXPECT_EQ(reader.header().step, 80);
  EXPECT_EQ(reader.tensors().size(), 1U) << "no optimizer state";
  EXPECT_TRUE(require_whole(out_, MPI_COMM_NULL));
}

TEST_F(CheckpointAverage, SharesAreDividedByTheirSum) {
  average_checkpoints({a_, b_}, {3, 1}, out_, Existing::kept, MPI_COMM_NULL);
  EXPECT_THAT(weights_of(out_, "/model/w"), ElementsAre(1.5, 2, 3.5, 2));
}

TEST_F(CheckpointAverage, TakesTheFloat32WeightsBesideRoundedOnes) {
  std::vector<std::string> files;
  for (const float value :
       {1.0F, 1.0F + 1.0F / 512}) {  // bf16 holds neither their mean nor the second
    const std::string file = dir_.path(fmt::format("h{}.h5", files.size()));
    const std::vector<CheckpointTensor> tensors = {{"/model/w", DType::bf16, {1}},
                                                   {"/master/w", DType::f32, {1}}};
    CheckpointWriter writer(file, MPI_COMM_NULL);
    writer.create(example_header(), tensors);
    Bf16 rounded(value);
    float whole = value;
    writer.write("/model/w", {{{}, {1}}}, Tensor(static_cast<void*>(&rounded), DType::bf16, {1}));
    writer.write("/master/w", {{{}, {1}}}, Tensor(&whole, {1}));
    writer.publish();
    files.push_back(file);
  }
  average_checkpoints(files, {}, out_, Existing::kept, MPI_COMM_NULL);
  EXPECT_THAT(weights_of(out_, "/master/w"), ElementsAre(1.0F + 1.0F / 1024));
  EXPECT_EQ(CheckpointReader(out_).tensor("/model/w").dtype, DType::bf16);
}

TEST_F(CheckpointAverage, RefusesOtherModelsAndWrongShares) {
  const auto refused = [&](const std::vector<std::string>& files,
                           const std::vector<double>& shares) {
    try {
      average_checkpoints(files, shares, out_, Existing::kept, MPI_COMM_NULL);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused({a_, write("c.h5", 1, {{1, 2}, {1, 2}}, {1, 2})}, {}),
              HasSubstr("/model/w has the shape (2, 2) in the first, (1, 2) in the second"));
  EXPECT_THAT(
      refused({a_, write("d.h5", 1, {{1, 2, 3, 4}, {1, 2, 3, 4}}, {2, 2}, "{\"a\":1}")}, {}),
      HasSubstr("their models differ"));
  write_example(dir_.path("e.h5"), {{"/model/v", DType::f32, {1}}}, {{1}});
  EXPECT_THAT(refused({a_, dir_.path("e.h5")}, {}),
              HasSubstr("only one of them has the tensor /model/v"));
  EXPECT_THAT(refused({a_, b_}, {1}), HasSubstr("1 shares for 2 files"));
  EXPECT_THAT(refused({a_, b_}, {1, -1}), HasSubstr("the shares have the sum 0"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(CheckpointAverage, DamagedOrInfiniteWeightsAreAnError) {
  const std::string bad = write("n.h5", 1, {{1, NAN, 3, 4}, {1, 2, 3, 4}});
  EXPECT_THAT(error_of([&] {
                average_checkpoints({a_, bad}, {}, out_, Existing::kept, MPI_COMM_NULL);
              }),
              HasSubstr("the average of /model/w is not finite"));
  const std::string bytes = contents(b_);
  const float three = 3.0F;
  const auto at = bytes.find(std::string(reinterpret_cast<const char*>(&three), 4));
  ASSERT_NE(at, std::string::npos);
  flip_bit(b_, static_cast<std::int64_t>(at), 2);
  EXPECT_THAT(error_of([&] {
                average_checkpoints({a_, b_}, {}, out_, Existing::kept, MPI_COMM_NULL);
              }),
              HasSubstr("b.h5"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace triax
