// SPDX-License-Identifier: Apache-2.0
#include "src/config/preference.hpp"

#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

class Preferences : public testing_support::JobFiles {
 protected:
  std::vector<std::string> keys(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"data.format=preference", "data.tokenizer=" + write("tok/tokenizer.json", "{}")});
    return more;
  }
  std::string wrong(const std::vector<std::string>& more) const { return error("", 1, keys(more)); }
};

TEST_F(Preferences, AreReadFromTheJob) {
  const Config config =
      load_job(job(), keys({"loss.type=simpo", "loss.beta=2", "loss.label_smoothing=0.1"}), 1)
          .config;
  EXPECT_EQ(config.data.rows_per_sample, 2);
  EXPECT_EQ(config.data.sample_length(), 2 * config.data.sequence_length);
  EXPECT_EQ(config.loss.beta, 2.0);
  EXPECT_EQ(config.loss.label_smoothing, 0.1);
  EXPECT_EQ(config.loss.simpo_gamma, 0.5);
  ASSERT_NE(preference_loss(config), nullptr);
  EXPECT_FALSE(needs_reference(config));
  EXPECT_TRUE(needs_reference(load_job(job(), keys({"loss.type=dpo"}), 1).config));
  const Config usual = load_job(job(), {}, 1).config;
  EXPECT_EQ(preference_loss(usual), nullptr);
  EXPECT_EQ(usual.data.rows_per_sample, 1);
}

TEST_F(Preferences, KeysAreChecked) {
  for (const PreferenceLoss& loss : preference_losses())
    EXPECT_EQ(wrong({std::string("loss.type=") + loss.name}), "");
  EXPECT_THAT(wrong({}), HasSubstr("data.format: \"preference\" has pairs of answers, which "
                                   "loss.type \"next_token\" does not compare. Set loss.type to "
                                   "one of \"dpo\", \"orpo\", \"simpo\""));
  EXPECT_THAT(error("", 1, {"loss.type=dpo"}),
              HasSubstr("loss.type: \"dpo\" compares a chosen and a rejected answer, and "
                        "data.format is \"tokens\". Set data.format to \"preference\""));
  EXPECT_THAT(wrong({"loss.type=kto"}), HasSubstr("loss.type: \"kto\" is not allowed"));
  EXPECT_THAT(wrong({"loss.type=dpo", "loss.beta=0"}), HasSubstr("loss.beta"));
  EXPECT_THAT(wrong({"loss.type=dpo", "loss.label_smoothing=0.5"}),
              HasSubstr("loss.label_smoothing"));
  EXPECT_THAT(wrong({"loss.type=orpo", "loss.label_smoothing=0.1"}),
              HasSubstr("loss.type \"orpo\" has no label smoothing"));
  EXPECT_EQ(wrong({"loss.type=dpo", "loss.chosen_weight=0.5"}), "");
  EXPECT_THAT(wrong({"loss.type=orpo", "loss.chosen_weight=0.5"}),
              HasSubstr("loss.chosen_weight: loss.type \"orpo\" is that cross-entropy, or has it"));
  EXPECT_THAT(load_job(job(), keys({"loss.type=dpo"}), 1).warnings,
              testing::Contains(HasSubstr("the reference is a model of random weights")));
  EXPECT_THAT(wrong({"loss.type=dpo", "loss.z_coefficient=1e-4"}), HasSubstr("z-loss"));
  EXPECT_THAT(wrong({"loss.type=dpo", "data.train_on=all"}),
              HasSubstr("data.train_on: the losses of pairs compare the answers alone"));
  EXPECT_THAT(wrong({"loss.type=dpo", "data.packing=true"}),
              HasSubstr("data.packing: each answer of a pair has a row of its own"));
  EXPECT_THAT(wrong({"loss.type=dpo", "data.documents=mask"}), HasSubstr("data.documents: each"));
  EXPECT_THAT(load_job(job(), keys({"loss.type=dpo", "loss.simpo_gamma=1"}), 1).warnings,
              testing::Contains(HasSubstr("loss.simpo_gamma: has no effect on loss.type \"dpo\"")));
}

}  // namespace
}  // namespace triax
