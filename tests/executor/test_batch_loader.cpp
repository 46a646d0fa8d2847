// SPDX-License-Identifier: Apache-2.0
#include "src/executor/batch_loader.hpp"

#include <filesystem>

#include "tests/io/token_fixtures.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int length = 3;  // T

std::vector<std::int32_t> values(const Tensor& tensor) {
  return {tensor.as<std::int32_t>(), tensor.as<std::int32_t>() + tensor.elements()};
}

class BatchLoaderTest : public testing::Test {
 protected:
  BatchLoaderTest() {
    std::vector<std::uint16_t> tokens(61);  // 20 samples: sample i is 3 i to 3 i + 3
    std::iota(tokens.begin(), tokens.end(), 0);
    path_ = directory_.file("tokens.bin", llmc_shard(tokens));
  }
  TokenReader reader() const { return {{path_}, length, false, 1}; }

  TempDirectory directory_;
  std::string path_;
};

TEST_F(BatchLoaderTest, LabelsAreTheNextTokens) {
  const TokenReader tokens = reader();
  BatchLoader loader(tokens, {2, 2, 1}, batch_shape(2, length, {}), 1, 0);
  loader.load(Stream(), 4);
  EXPECT_EQ(loader.microbatches(), 1);
  EXPECT_THAT(values(loader.tokens(0)), ElementsAre(12, 13, 14, 15, 16, 17));
  EXPECT_THAT(values(loader.labels(0)), ElementsAre(13, 14, 15, 16, 17, 18));
}

TEST_F(BatchLoaderTest, CountsTheLabelTokensOfItsRank) {
  const TokenReader tokens = reader();
  BatchLoader all(tokens, {4, 2, 2}, batch_shape(2, length, {}), 1, 0);
  EXPECT_EQ(all.label_tokens(), 0);
  all.load(Stream(), 16);
  EXPECT_EQ(all.label_tokens(), 4 * length);
  all.load(Stream(), 17, 20);
  EXPECT_EQ(all.label_tokens(), 3 * length);

  const std::string file = labelled_file(directory_.path("labelled.h5"), {0, 1, 2, 3, 4, 5, 6},
                                         {0, -100, 2, 3, -100, -100, 6});
  const TokenReader labelled({file}, length, false, 1);
  for (const int rank : {0, 1}) {
    BatchLoader loader(labelled, {2, 1, 1}, batch_shape(1, length, {}), 2, rank);
    loader.load(Stream(), 0);
    EXPECT_EQ(loader.label_tokens(), 2 - rank);
    if (rank == 0)
      EXPECT_THAT(values(loader.labels(0)), ElementsAre(-100, 2, 3));
    else
      EXPECT_THAT(values(loader.labels(0)), ElementsAre(-100, -100, 6));
    EXPECT_THAT(values(loader.tokens(0)), ElementsAre(3 * rank, 3 * rank + 1, 3 * rank + 2));
    loader.load(Stream(), 0, 1);
    EXPECT_EQ(loader.label_tokens(), rank == 0 ? 2 : 0);
  }
}

TEST_F(BatchLoaderTest, PositionsBeginAnewInEachDocument) {
  const std::string file =
      labelled_file(directory_.path("documents.h5"), {0, 1, 2, 3, 4, 5, 6}, {}, {0, 2, 5, 7});
  TokenReader tokens({file}, length, false, 1);
  tokens.find_documents(-1, false);
  BatchShape shape = batch_shape(2, length, {4, 0, true});
  ASSERT_EQ(shape.rows, 8);
  BatchLoader plain(tokens, {2, 2, 1}, shape, 1, 0);
  EXPECT_TRUE(plain.positions(0).empty());
  const std::int64_t bytes = BatchLoader::bytes_of({2, 2, 1}, shape);
  shape.documents = true;
  EXPECT_EQ(BatchLoader::bytes_of({2, 2, 1}, shape), bytes / 2 * 3);
  BatchLoader loader(tokens, {2, 2, 1}, shape, 1, 0);
  loader.load(Stream(), 0);
  EXPECT_THAT(values(loader.positions(0)), ElementsAre(0, 1, 0, 0, 1, 0, -1, -1));
  EXPECT_THAT(values(loader.tokens(0)), ElementsAre(0, 1, 2, 3, 4, 5, -1, -1));
  EXPECT_THAT(values(loader.labels(0)), ElementsAre(1, 2, 3, 4, 5, 6, -1, -1));
  loader.load(Stream(), 0, 1);
  EXPECT_THAT(values(loader.positions(0)), ElementsAre(0, 1, 0, 0, 0, 0, -1, -1));
}

// A pair is two sequences: the label behind the first is not the token that begins the second.
TEST_F(BatchLoaderTest, PairsAreTwoSequencesWithTheirReference) {
  std::vector<std::int32_t> tokens(19), labels(19);
  std::iota(tokens.begin(), tokens.end(), 0);
  labels = tokens;
  labels[8] = -100;  // of the rejected sequence of the second pair
  for (const std::size_t i : {9, 10, 11}) labels[i] = -100;
  labels[15] = -100;
  const std::string file = labelled_file(directory_.path("pairs.h5"), tokens, labels);
  const TokenReader reader({file}, 2 * length, false, 1);
  BatchShape shape = batch_shape(4, length, {});
  const std::int64_t bytes = BatchLoader::bytes_of({2, 2, 1}, shape);
  shape.pairs = true;
  EXPECT_EQ(BatchLoader::bytes_of({2, 2, 1}, shape), bytes + 4 * 8);
  BatchLoader loader(reader, {2, 2, 1}, shape, 1, 0);
  const ReferenceTable table = {{-1, -2, -3, -4, -5, -6}};
  loader.set_reference(&table);
  loader.load(Stream(), 0);
  EXPECT_THAT(values(loader.tokens(0)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(values(loader.labels(0)),
              ElementsAre(1, 2, -1, 4, 5, -1, 7, -100, -1, -100, -100, -1));
  EXPECT_THAT(loader.written(0), ElementsAre(-1, -2, -3, -4));
  EXPECT_EQ(loader.counts().tokens, 5);
  EXPECT_EQ(loader.counts().pairs, 1) << "the second has no rejected label";
  EXPECT_EQ(loader.counts().chosen, 2);
  loader.load(Stream(), 2, 3);
  EXPECT_THAT(loader.written(0), ElementsAre(-5, -6, 0, 0));
  EXPECT_EQ(loader.counts().pairs, 1) << "there is no fourth";
}

// The mapping's last page reads as zeros beyond the end of the file, and zeros are tokens too.
TEST_F(BatchLoaderTest, AFileThatWasMadeShorterIsAnError) {
  const TokenReader tokens = reader();
  BatchLoader loader(tokens, {2, 2, 1}, batch_shape(2, length, {}), 1, 0);
  loader.load(Stream(), 4);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 2);
  EXPECT_THAT(error_of([&] { loader.load(Stream(), 4); }),
              AllOf(HasSubstr("cannot read " + path_), HasSubstr("made shorter")));
}

// Every sample of the global batch is on exactly one rank; each rank has consecutive samples.
TEST_F(BatchLoaderTest, RanksShareTheGlobalBatch) {
  const TokenReader tokens = reader();
  for (const int data : {1, 2, 3, 6})
    for (const std::int64_t micro : {1, 2}) {
      const std::int64_t accumulation = 12 / (micro * data);
      std::vector<int> seen(12, 0);
      for (int rank = 0; rank < data; ++rank) {
        BatchLoader loader(tokens, {12, micro, accumulation}, batch_shape(micro, length, {}), data,
                           rank);
        loader.load(Stream(), 2);
        for (int m = 0; m < loader.microbatches(); ++m)
          for (std::int64_t b = 0; b < micro; ++b) {
            const std::int64_t sample = loader.first_sample(m) + b;
            ++seen[static_cast<std::size_t>(sample)];
            EXPECT_EQ(values(loader.tokens(m))[static_cast<std::size_t>(b * length)],
                      3 * (2 + sample));
          }
      }
      EXPECT_THAT(seen, Each(1)) << data << " ranks, micro-batches of " << micro;
    }
}

TEST_F(BatchLoaderTest, PaddingRowsHaveNoTokenAndNoLabel) {
  const TokenReader tokens = reader();
  const BatchShape shape = batch_shape(1, length, {2, 1, true});  // 3 rows padded to 4
  ASSERT_EQ(shape.rows, 4);
  BatchLoader loader(tokens, {1, 1, 1}, shape, 1, 0);
  loader.load(Stream(), 1);
  EXPECT_THAT(values(loader.tokens(0)), ElementsAre(3, 4, 5, -1));
  EXPECT_THAT(values(loader.labels(0)), ElementsAre(4, 5, 6, -1));
}

TEST_F(BatchLoaderTest, SamplesFromTheEndOnAreLeftOut) {
  const TokenReader tokens = reader();
  BatchLoader loader(tokens, {4, 2, 2}, batch_shape(2, length, {}), 1, 0);
  loader.load(Stream(), 16);
  loader.load(Stream(), 17, 20);  // three samples after four
  EXPECT_THAT(values(loader.tokens(0)), ElementsAre(51, 52, 53, 54, 55, 56));
  EXPECT_THAT(values(loader.tokens(1)), ElementsAre(57, 58, 59, -1, -1, -1));
  EXPECT_THAT(values(loader.labels(1)), ElementsAre(58, 59, 60, -1, -1, -1));
}

TEST_F(BatchLoaderTest, EpochsFollowEachOther) {
  const TokenReader tokens = reader();
  BatchLoader loader(tokens, {2, 2, 1}, batch_shape(2, length, {}), 1, 0);
  loader.load(Stream(), 19);
  EXPECT_THAT(values(loader.tokens(0)), ElementsAre(57, 58, 59, 0, 1, 2));
}

}  // namespace
}  // namespace triax::test
