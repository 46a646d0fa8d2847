// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/training_data.hpp"

#include <algorithm>
#include <set>

#include "src/data/mixture/source_names.hpp"
#include "src/data/mixture/source_plan.hpp"
#include "src/data/mixture/weight_units.hpp"
#include "src/executor/batch_loader.hpp"
#include "tests/data/mixture/mixed_files.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int sample_length = 3;  // T

// Two sources: "a" of 20 samples with tokens 0 to 60, "b" of 7 samples with tokens 1000 to 1021.
class TrainingDataTest : public testing::Test {
 protected:
  TrainingDataTest() {
    config_.data.train = {numbered_file(directory_, "a.bin", 20, sample_length, 0),
                          numbered_file(directory_, "b.bin", 7, sample_length, 1000)};
    config_.data.sources = {{1, {{0.7}}}, {1, {{0.3}}}};
    config_.data.sequence_length = sample_length;
    config_.batch = {12, 1, 12};
    config_.run.steps = 10;
  }
  TrainingData data() const {
    return {config_, readers_of(config_.data, source_files(config_.data))};
  }
  // First token of each sample in [begin, end).
  static std::vector<std::int32_t> firsts(const TrainingData& data, std::int64_t begin,
                                          std::int64_t end) {
    std::vector<std::int32_t> all;
    for (std::int64_t i = begin; i < end; ++i)
      all.push_back(sample_of(data, i, sample_length).front());
    return all;
  }
  static bool of_b(std::int32_t token) { return token >= 1000; }

  TempDirectory directory_;
  Config config_;
};

TEST_F(TrainingDataTest, BlendsToTheWeightsInTheOrderOfEachSource) {
  config_.data.shuffle = false;
  EXPECT_THAT(firsts(data(), 0, 10), ElementsAre(0, 3, 1000, 6, 9, 1003, 12, 15, 18, 1006));
}

TEST_F(TrainingDataTest, EverySourceHasItsOwnEpochs) {
  const TrainingData mixed = data();
  std::vector<std::int32_t> a, b;
  for (const std::int32_t token : firsts(mixed, 0, 70)) (of_b(token) ? b : a).push_back(token);
  ASSERT_EQ(a.size(), 49U);
  ASSERT_EQ(b.size(), 21U);
  const auto epoch = [](const std::vector<std::int32_t>& all, std::ptrdiff_t size,
                        std::ptrdiff_t number) {
    return std::vector<std::int32_t>(all.begin() + number * size,
                                     all.begin() + (number + 1) * size);
  };
  for (std::ptrdiff_t number = 0; number < 3; ++number) {
    const auto samples = epoch(b, 7, number);
    EXPECT_EQ(std::set<std::int32_t>(samples.begin(), samples.end()).size(), 7U);
    EXPECT_FALSE(std::ranges::is_sorted(samples));
  }
  EXPECT_NE(epoch(b, 7, 0), epoch(b, 7, 1));
  for (std::ptrdiff_t number = 0; number < 2; ++number) {
    const auto samples = epoch(a, 20, number);
    EXPECT_EQ(std::set<std::int32_t>(samples.begin(), samples.end()).size(), 20U);
  }
}

TEST_F(TrainingDataTest, TheFirstSourceIsShuffledAsOneAloneTheOthersNot) {
  numbered_file(directory_, "b.bin", 20, sample_length, 1000);
  const TrainingData mixed = data();
  const TokenReader alone({config_.data.train[0]}, sample_length, true, config_.data.seed);
  std::vector<std::int32_t> a, b;
  for (const std::int32_t token : firsts(mixed, 0, 60))
    if (of_b(token))
      b.push_back(token - 1000);
    else
      a.push_back(token);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i], sample_of(alone, static_cast<std::int64_t>(i), sample_length).front());
  a.resize(b.size());
  EXPECT_NE(a, b);
}

// Sample n of a source begins with token sample_length n of it.
TEST_F(TrainingDataTest, KnowsWhereASampleLies) {
  for (const bool several : {true, false}) {
    if (!several) config_.data.sources.clear();
    const TrainingData mixed = data();
    for (const std::int64_t index : {0, 1, 17, 5, 1023, 1024, 4000}) {
      const SamplePosition at = mixed.position(index);
      const std::int64_t begin = at.source == 0 ? 0 : 1000;
      if (several)
        EXPECT_EQ(sample_of(mixed, index, sample_length).front(), begin + sample_length * at.number)
            << index;
      else
        EXPECT_EQ(at.source, 0U);
    }
  }
}

TEST_F(TrainingDataTest, OneSourceIsItsReader) {
  config_.data.sources.clear();
  const TrainingData one = data();
  EXPECT_FALSE(one.blends());
  const TokenReader reader(config_.data.train, sample_length, true, config_.data.seed);
  EXPECT_EQ(one.samples(), reader.samples());
  for (const std::int64_t index : {0, 5, 26, 27, 100, 3, 1'000'000'000})
    EXPECT_EQ(sample_of(one, index, sample_length), sample_of(reader, index, sample_length))
        << index;
  EXPECT_EQ(one.state_at(41).used, (std::vector<std::int64_t>{41}));
}

TEST_F(TrainingDataTest, ASampleIsTheSameInAnyOrderOfReading) {
  const TrainingData mixed = data();
  const auto straight = firsts(mixed, 0, 5000);
  const TrainingData again = data();
  for (const std::int64_t index : {4999, 4990, 0, 3000, 2999, 1024, 1023, 4096, 4095, 17})
    EXPECT_EQ(sample_of(again, index, sample_length).front(),
              straight[static_cast<std::size_t>(index)])
        << index;
}

TEST_F(TrainingDataTest, TheSamplesOfAStepDoNotDependOnTheGrid) {
  const TrainingData mixed = data();
  const auto straight = firsts(mixed, 24, 36);
  for (const int ranks : {1, 2, 4})
    for (const std::int64_t micro : {1, 3}) {
      const BatchConfig batch{12, micro, 12 / (micro * ranks)};
      std::vector<std::int32_t> found(12, -1);
      for (int rank = 0; rank < ranks; ++rank) {
        const TrainingData own = data();
        BatchLoader loader(own, batch, batch_shape(micro, sample_length, {}), ranks, rank);
        loader.load(Stream(), 24);
        for (int m = 0; m < loader.microbatches(); ++m)
          for (std::int64_t b = 0; b < micro; ++b)
            found[static_cast<std::size_t>(loader.first_sample(m) + b)] =
                loader.tokens(m).as<std::int32_t>()[b * sample_length];
      }
      EXPECT_EQ(found, straight) << ranks << " ranks, micro-batches of " << micro;
    }
}

TEST_F(TrainingDataTest, GoesOnFromAState) {
  config_.data.sources = {{1, {{0.7, 3}, {0.1, 0}}}, {1, {{0.3}}}};
  const TrainingData straight = data();
  const auto all = firsts(straight, 0, 100);
  for (const std::int64_t sample : {0, 1, 35, 36, 37, 99}) {
    TrainingData resumed = data();
    resumed.set_state(straight.state_at(sample));
    EXPECT_EQ(firsts(resumed, sample, 100),
              (std::vector<std::int32_t>(all.begin() + sample, all.end())))
        << sample;
    EXPECT_EQ(resumed.state_at(100), straight.state_at(100));
  }
}

// Epochs of sources whose numbers in the keys have moved are those from before.
TEST_F(TrainingDataTest, OrdersOfAStateAreKept) {
  config_.data.sources = {{1, {{0.5}}}, {1, {{0.5}}}};
  const auto both = firsts(data(), 0, 14);
  std::vector<std::int32_t> b;
  std::ranges::copy_if(both, std::back_inserter(b), of_b);
  config_.data.train.erase(config_.data.train.begin());
  config_.data.sources.erase(config_.data.sources.begin());
  TrainingData alone = data();
  alone.set_state({{{100, {1}}}, {2}, {1}, 100, {2}});
  EXPECT_EQ(firsts(alone, 100, 105), (std::vector<std::int32_t>(b.begin() + 2, b.end())));
}

TEST_F(TrainingDataTest, TellsEpochsAndPlans) {
  const TrainingData mixed = data();
  EXPECT_THAT(source_epochs(mixed, 20),
              ElementsAre(testing::Pair("a.bin", 0.7), testing::Pair("b.bin", 6.0 / 7)));
  const auto plans = plan_sources(config_);
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0].name, "a.bin");
  EXPECT_EQ(plans[0].share, "70% of the samples");
  EXPECT_DOUBLE_EQ(plans[1].samples, 36.0);
  EXPECT_THAT(source_lines(config_, mixed, 0, 0),
              ElementsAre("source a.bin: 1 file(s), 61 tokens, 20 samples per epoch; 70% of the "
                          "samples; 4.2 epochs at the end of the run",
                          "source b.bin: 1 file(s), 22 tokens, 7 samples per epoch; 30% of the "
                          "samples; 5.14 epochs at the end of the run"));
  EXPECT_THAT(source_lines(config_, mixed, 5, 60)[1],
              HasSubstr("5.14 epochs at the end of the run, 2.57 so far"));
}

TEST_F(TrainingDataTest, WarnsOfManyEpochs) {
  const TrainingData mixed = data();
  EXPECT_THAT(repetition_warnings(config_, mixed, 0, 0),
              ElementsAre(HasSubstr("4.2 epochs over source a.bin"),
                          HasSubstr("5.14 epochs over source b.bin")));
  config_.run.steps = 9;
  EXPECT_THAT(repetition_warnings(config_, mixed, 0, 0),
              ElementsAre(HasSubstr("4.63 epochs over source b.bin")));
  config_.run.steps = 7;
  EXPECT_THAT(repetition_warnings(config_, mixed, 0, 0), IsEmpty());
}

TEST_F(TrainingDataTest, SharesThatChangeAreTold) {
  config_.data.sources = {{1, {{0.75, 100}, {0.5, 200}, {0.5, 0}}}, {1, {{0.25, 100}, {0.5, 0}}}};
  EXPECT_EQ(plan_sources(config_)[0].share, "75% of the samples until step 100, then 50%");
  EXPECT_EQ(plan_sources(config_)[1].share, "25% of the samples until step 100, then 50%");
}

TEST(SourceNames, ArePatternsWithoutSharedDirectories) {
  const auto names = [](const std::vector<std::vector<std::string>>& sources) {
    DataConfig data;
    for (const auto& files : sources) {
      data.train.insert(data.train.end(), files.begin(), files.end());
      data.sources.push_back({files.size(), {{1.0}}});
    }
    return source_names(data);
  };
  EXPECT_THAT(names({{"/d/a/1.bin", "/d/a/2.bin"}, {"/d/b.h5"}}), ElementsAre("a/*.bin", "b.h5"));
  EXPECT_THAT(names({{"a.txt"}, {"a.txt"}, {"b.txt"}}), ElementsAre("a.txt", "a.txt (2)", "b.txt"));
  EXPECT_THAT(names({{"/d/x"}}), ElementsAre("x"));
  EXPECT_THAT(names({{"/d/web/1/a", "/d/web/2/a"}, {"/d/web/3"}}), ElementsAre("*/a", "3"));
  EXPECT_THAT(names({{"aa", "aaa"}, {"b"}}), ElementsAre("aa*", "b"));
}

}  // namespace
}  // namespace triax::test
