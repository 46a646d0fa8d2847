// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/resume_changes.hpp"

#include "src/config/model/huggingface.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 101 tokens: an epoch has 10 samples of 10 tokens, 20 of 5 or 14 of 7.
class ResumeChanges : public testing::Test {
 protected:
  ResumeChanges() { job_["data"] = {{"train", {file_}}, {"seq_length", 10}, {"shuffle", false}}; }

  TokenReader reader(int length) const { return {{file_}, length, false, 0}; }
  LoadedJob loaded() const { return load(job_, 1); }
  // Header of a checkpoint of the job after `samples` samples.
  CheckpointHeader header(std::int64_t samples = 3) const {
    const LoadedJob job = loaded();
    CheckpointHeader header;
    header.samples = samples;
    header.job = job_for_checkpoint(job.resolved, 101);
    header.model = huggingface_config(job.config.model);
    return header;
  }
  std::vector<std::string> changes(const CheckpointHeader& header) const {
    const LoadedJob job = loaded();
    return resume_changes(header, job, reader(job.config.data.sequence_length), 5);
  }

  TempDirectory directory_;
  std::string file_ = directory_.file("text.txt", std::string(101, 'a'));
  nlohmann::json job_ = golden_job(read_golden("gpt2-tiny"), {.micro = 1});
};

std::int64_t sample_at(const CheckpointHeader& header, const TokenReader& reader, int length) {
  DataConfig data;
  data.sequence_length = length;
  return resume_sample(header, data, reader);
}

TEST_F(ResumeChanges, TheSameJobHasNone) {
  EXPECT_THAT(changes(header()), IsEmpty());
}

TEST_F(ResumeChanges, NumbersOfASavedJob) {
  EXPECT_EQ(saved_integer(R"({"data": {"seq_length": 7}})", "data.seq_length"), 7);
  for (const char* job : {"", "{}", "[]", R"({"data": 5})", R"({"data": {"seq_length": "auto"}})"})
    EXPECT_EQ(saved_integer(job, "data.seq_length"), std::nullopt) << job;
}

TEST_F(ResumeChanges, SamplesOfAnotherLengthGoOnBehindWhatWasSeen) {
  EXPECT_EQ(sample_at(header(3), reader(10), 10), 3);
  EXPECT_EQ(sample_at(header(3), reader(5), 5), 6) << "30 tokens";
  EXPECT_EQ(sample_at(header(3), reader(7), 7), 5) << "35 tokens: the first that is all new";
  EXPECT_EQ(sample_at(header(13), reader(5), 5), 26) << "an epoch and 30 tokens";
  EXPECT_EQ(sample_at(header(19), reader(7), 7), 27) << "an epoch, and 13 of its 14 samples";
  CheckpointHeader imported;
  imported.samples = 3;
  EXPECT_EQ(sample_at(imported, reader(5), 5), 3);
}

TEST_F(ResumeChanges, NameThePositionInTheData) {
  const CheckpointHeader before = header();
  job_["data"]["seq_length"] = 5;
  EXPECT_THAT(changes(before),
              ElementsAre("resumed with another data.seq_length: 10 in the checkpoint, 5 now",
                          "3 samples of 10 tokens in the checkpoint are 6 samples of 5 tokens now: "
                          "the run continues there"));
  job_["data"]["shuffle"] = true;
  EXPECT_THAT(changes(before), testing::Contains(HasSubstr("are shuffled in a new order")));
}

TEST_F(ResumeChanges, NameDataThatGrewUnderTheSameName) {
  const CheckpointHeader before = header();
  directory_.file("text.txt", std::string(150, 'a'));
  EXPECT_THAT(changes(before),
              ElementsAre(HasSubstr("other training data: 101 tokens in the checkpoint, 150")));
  CheckpointHeader old = before;
  old.job = loaded().resolved;
  EXPECT_THAT(changes(old), IsEmpty()) << "of a triax that did not write it";
}

TEST_F(ResumeChanges, NameDropout) {
  const CheckpointHeader before = header();
  job_["model"]["resid_pdrop"] = 0.25;
  job_["model"]["initializer_range"] = 0.5;
  EXPECT_THAT(
      changes(before),
      ElementsAre("resumed with another model.resid_pdrop: 0.0 in the checkpoint, 0.25 now"));
}

TEST_F(ResumeChanges, NameTheCosineThatEndsElsewhere) {
  job_["scheduler"] = {{"type", "cosine"}};
  job_["run"]["steps"] = 10;
  const CheckpointHeader before = header();
  job_["run"]["steps"] = 20;
  EXPECT_THAT(
      changes(before),
      ElementsAre(HasSubstr("the cosine now ends at step 20: the learning rate of step 6")));
}

TEST_F(ResumeChanges, OfARunThatIsDoneAreThoseOfTheJob) {
  job_["scheduler"] = {{"type", "cosine"}};
  job_["run"]["steps"] = 10;
  CheckpointHeader before = header();
  before.step = 10;
  job_["run"]["steps"] = 5;
  job_["data"]["seq_length"] = 5;
  job_["gradient_clipping"] = 0.5;
  EXPECT_THAT(changes(before),
              ElementsAre(HasSubstr("data.seq_length"), HasSubstr("gradient_clipping")));
  job_["run"]["steps"] = 11;
  EXPECT_THAT(changes(before), testing::Contains(HasSubstr("cosine")));
}

// An older triax reads the job and ignores keys it does not know.
TEST_F(ResumeChanges, LossesStandInTheJobOfAFileAndAreThoseOfItsData) {
  CheckpointHeader before = header();
  EXPECT_EQ(resume_losses(before, loaded().resolved), "") << "of a triax that did not write them";
  const std::string losses = R"({"counted":2,"window":[0.1,0.3333333333333333]})";
  before.job = job_for_checkpoint(loaded().resolved, 101, losses);
  EXPECT_EQ(resume_losses(before, loaded().resolved), losses);
  EXPECT_THAT(changes(before), IsEmpty());
  EXPECT_EQ(saved_integer(before.job, "triax.data_tokens"), 101);
  job_["optimizer"]["params"]["lr"] = 0.5;
  EXPECT_EQ(resume_losses(before, loaded().resolved), losses);
  job_["data"]["train"] = {
      directory_.file("other.txt", "text that is another, and has its losses")};
  EXPECT_EQ(resume_losses(before, loaded().resolved), "");
}

// Losses of validations are compared with those of the same lines only.
TEST_F(ResumeChanges, ValidationsOfTheSameSplitGoOn) {
  const auto split = [](const nlohmann::json& fraction, const std::string& file) {
    return nlohmann::json{
        {"data",
         {{"train", {file}}, {"valid", nullptr}, {"validation_fraction", fraction}, {"seed", 1}}}}
        .dump();
  };
  CheckpointHeader header;
  header.job = job_for_checkpoint(split(0.1, "/a.jsonl"), 0, "", "", "", R"({"best": 1})");
  EXPECT_EQ(resume_validation(header, split(0.1, "/a.jsonl")), R"({"best":1})");
  EXPECT_EQ(resume_validation(header, split(0.2, "/a.jsonl")), "");
  EXPECT_EQ(resume_validation(header, split(0.1, "/b.jsonl")), "");
  EXPECT_EQ(resume_validation(header, R"({"data": {"train": ["/a.jsonl"]}})"), "");
}

}  // namespace
}  // namespace triax::test
