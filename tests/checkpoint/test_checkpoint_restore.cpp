// SPDX-License-Identifier: Apache-2.0
// Changes of the model with which a checkpoint can be resumed.
#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/config/model/huggingface.hpp"
#include "tests/huggingface/huggingface_fixtures.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/matchers.hpp"

namespace triax::test {
namespace {

class ModelChanges : public testing::Test {
 protected:
  // Error of a run that resumes a checkpoint of `golden` with `model`; empty if it succeeds.
  std::string error(const std::string& golden, const ModelConfig& model) {
    return error_of([&] {
      check_same_model(CheckpointReader(imported(directory_, golden)), model, MPI_COMM_NULL);
    });
  }
  std::vector<std::string> lines(const std::string& golden, const ModelConfig& model) {
    return model_changes(CheckpointReader(imported(directory_, golden)).header(), model);
  }
  static ModelConfig model_of(const std::string& golden) {
    return model_from_huggingface(contents(read_golden(golden).directory + "/config.json"), golden);
  }
  TempDirectory directory_;
};

// Longer rotary positions change no tensor's shape.
TEST_F(ModelChanges, TheContextOfRotaryPositionsMayGrow) {
  for (const std::string name : {"llama-tiny", "llama-scaled", "qwen2-tiny"}) {
    ModelConfig longer = model_of(name);
    longer.positions *= 4;
    EXPECT_EQ(error(name, longer), "") << name;
    EXPECT_THAT(lines(name, longer),
                ElementsAre(HasSubstr("resumed with another model.max_position_embeddings: ")))
        << name;
  }
}

TEST_F(ModelChanges, ThatOfLearnedPositionsMayNot) {
  ModelConfig longer = model_of("gpt2-odd");
  longer.positions += 1;
  EXPECT_THAT(error("gpt2-odd", longer), HasSubstr("transformer.wpe.weight"));
}

// A UsageError (status 2).
TEST_F(ModelChanges, AnotherShapeIsTheJobsFaultAndItsKeysAndTensorsAreNamed) {
  ModelConfig wider = model_of("gpt2-odd");
  wider.layers += 1;
  wider.vocabulary = 132;
  const CheckpointReader reader(imported(directory_, "gpt2-odd"));
  EXPECT_THROW(check_same_model(reader, wider, MPI_COMM_NULL), UsageError);
  EXPECT_THAT(
      error("gpt2-odd", wider),
      AllOf(HasSubstr("vocab_size is 131 in the checkpoint, 132 in the job"), HasSubstr("n_layer "),
            HasSubstr("tensor /model/transformer.wte.weight has shape (131, 48) in the checkpoint"),
            HasSubstr(" more tensors")));
  EXPECT_THAT(error("gpt2-odd", model_of("llama-tiny")),
              HasSubstr("(model_type is \"gpt2\" in the checkpoint, \"llama\" in the job; the "
                        "checkpoint has no tensor "));
}

TEST_F(ModelChanges, OtherTurnsOfPositionsAreSaid) {
  ModelConfig slower = model_of("llama-scaled");
  EXPECT_THAT(lines("llama-scaled", slower), IsEmpty());
  slower.rope_theta = 500000.0;
  slower.rope_scaling.factor = 24.0;
  EXPECT_EQ(error("llama-scaled", slower), "");
  EXPECT_THAT(
      lines("llama-scaled", slower),
      ElementsAre(AllOf(HasSubstr("resumed with another model.rope_scaling: "),
                        HasSubstr("\"factor\":6.0"), HasSubstr("\"factor\":24.0")),
                  "resumed with another model.rope_theta: 2000.0 in the checkpoint, 500000.0 now"));
  ModelConfig plain = model_of("llama-scaled");
  plain.rope_scaling = {};
  EXPECT_THAT(lines("llama-scaled", plain), ElementsAre(HasSubstr("}")));
  EXPECT_THAT(lines("llama-scaled", plain), ElementsAre(HasSubstr(" in the checkpoint, null now")));
}

TEST_F(ModelChanges, OtherFunctionsAreRefused) {
  ModelConfig rounder = model_of("llama-tiny");
  rounder.norm_epsilon = 0.5F;
  EXPECT_THAT(error("llama-tiny", rounder), HasSubstr("rms_norm_eps"));
}

}  // namespace
}  // namespace triax::test
