// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/choose_tokenizer.hpp"

#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/tokens/token_facts.hpp"
#include "src/text/template/chat_template.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/job_builder.hpp"

namespace triax::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const std::string golden = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

class ChooseTokenizer : public testing::Test {
 protected:
  void SetUp() override {
    config_.checkpoint.directory = directory_.path("checkpoints");
    config_.checkpoint.resume = "auto";
    config_.data.tokenizer = "auto";
    config_.model.vocabulary = 512;
  }
  static std::string hash_of(const std::string& name) {
    return open_tokenizer(golden + name)->fingerprint();
  }
  // A data file that names its tokenizer beside it; empty: it names none.
  std::string data(const std::string& name, const std::string& hash) const {
    if (world_rank() == 0) {
      std::ofstream(directory_.path(name + ".bin")) << "tokens";
      if (!hash.empty())
        std::ofstream(directory_.path(name + ".json"))
            << facts_json({.tokenizer = hash, .job = "j", .version = "v"});
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return directory_.path(name + ".bin");
  }
  // A directory as model.from, with this tokenizer.
  void model_with(const std::string& name) {
    config_.model.weights = directory_.path("model");
    if (world_rank() == 0) {
      fs::create_directories(directory_.path("model"));
      fs::copy_file(golden + name + "/tokenizer.json", directory_.path("model/tokenizer.json"));
      std::ofstream(directory_.path("model/generation_config.json")) << "{}";
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // A checkpoint of step 7 with this tokenizer, or that names its hash alone.
  void checkpoint_with(const RunTokenizer& tokenizer) const {
    if (world_rank() == 0) {
      CheckpointHeader header;
      header.job = with_tokenizer_hash("{}", tokenizer.hash);
      header.model = header.grid = "{}";
      const float one = 1.0F;
      const Tensor value(const_cast<float*>(&one), {1});
      CheckpointWriter writer(config_.checkpoint.directory + "/step-000007.h5", MPI_COMM_SELF);
      std::vector<CheckpointTensor> tensors = {{"/model/x", DType::f32, {1}}};
      tensors.insert(tensors.end(), tokenizer.datasets.begin(), tokenizer.datasets.end());
      writer.create(header, tensors);
      writer.write("/model/x", hdf5::flat_range_boxes({1}, 0, 1), value);
      write_tokenizer(tokenizer, MPI_COMM_SELF, writer);
      writer.publish();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  RunTokenizer chosen() {
    ProcessGrid grid(MPI_COMM_WORLD, {.data = world_size()}, {}, 60.0, MemorySpace::host);
    return choose_tokenizer(grid, config_);
  }
  std::string refusal() {
    std::string text;
    EXPECT_TRUE(is_usage_error([&] {
      text = error_of([&] { chosen(); });
      chosen();
    }));
    return text;
  }

  SharedDirectory directory_;
  Config config_;
};

TEST_F(ChooseTokenizer, IsUnknownWhereNothingNamesOne) {
  config_.data.train = {data("a", "")};
  EXPECT_EQ(chosen().hash, "");
  EXPECT_TRUE(chosen().datasets.empty());
}

TEST_F(ChooseTokenizer, IsTheOneOfTheJob) {
  config_.data.tokenizer = golden + "gpt2";
  config_.data.train = {data("a", hash_of("gpt2")), data("b", "")};
  const RunTokenizer found = chosen();
  EXPECT_EQ(found.hash, hash_of("gpt2"));
  EXPECT_EQ(found.datasets.size(), 1U);
  config_.data.tokenizer = "bytes";
  config_.data.train = {};
  EXPECT_EQ(chosen().hash, byte_tokenizer()->fingerprint());
}

TEST_F(ChooseTokenizer, IsTheModelsWithItsOtherFiles) {
  model_with("llama3");
  config_.data.train = {data("a", hash_of("llama3"))};
  EXPECT_EQ(chosen().hash, hash_of("llama3"));
  EXPECT_EQ(chosen().datasets.size(), 2U);
  config_.data.tokenizer = golden + "llama3";
  EXPECT_EQ(chosen().datasets.size(), 2U) << "generation_config.json of the model, too";
}

// The model is asked as it was trained: checkpoints and exports have the template of the run.
TEST_F(ChooseTokenizer, HasTheChatTemplateOfTheRun) {
  model_with("llama3");
  const auto found = [&](const std::string& chat_template) {
    ProcessGrid grid(MPI_COMM_WORLD, {.data = world_size()}, {}, 60.0, MemorySpace::host);
    return choose_tokenizer(grid, config_, chat_template);
  };
  const RunTokenizer own = found(""), named = found("chatml");
  EXPECT_EQ(named.hash, own.hash);
  EXPECT_EQ(named.format, own.format);
  EXPECT_EQ(named.datasets.size(), own.datasets.size() + 1);
  checkpoint_with(named);
  const RunTokenizer resumed = found("");
  EXPECT_EQ(resumed.datasets.size(), named.datasets.size());
  if (world_rank() != 0) return;
  EXPECT_EQ(*resumed.files.find("chat_template.jinja"), chat_template_text("chatml"));
}

// A model that learned a template stops where the template ends an answer.
TEST_F(ChooseTokenizer, AnswersEndAsTheTemplateEndsThem) {
  model_with("llama3");
  ProcessGrid grid(MPI_COMM_WORLD, {.data = world_size()}, {}, 60.0, MemorySpace::host);
  const RunTokenizer phi = choose_tokenizer(grid, config_, "phi_3");
  const RunTokenizer other = choose_tokenizer(grid, config_, "chatml");
  if (world_rank() != 0) return;
  const auto end = open_tokenizer(golden + "llama3")->id_of("<|end|>");
  ASSERT_TRUE(end);
  EXPECT_EQ(nlohmann::json::parse(*phi.files.find("generation_config.json")),
            (nlohmann::json{{"eos_token_id", {*end}}}));
  EXPECT_EQ(*other.files.find("generation_config.json"), "{}") << "it has no <|im_end|>";
}

TEST_F(ChooseTokenizer, RefusesDataOfAnotherTokenizer) {
  config_.data.tokenizer = golden + "gpt2";
  config_.data.train = {data("a", hash_of("gpt2"))};
  config_.data.valid = {data("b", hash_of("llama3"))};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("b.bin was made by another tokenizer than the run's"),
                               HasSubstr(hash_of("llama3")), HasSubstr(hash_of("gpt2")),
                               HasSubstr("triax data tokenize --tokenizer")));
  config_.data.tokenizer = "auto";
  EXPECT_THAT(refusal(), HasSubstr("the run's is the tokenizer of")) << "a.bin's";
  model_with("qwen2");
  EXPECT_THAT(refusal(), HasSubstr("a.bin was made by another"));
}

TEST_F(ChooseTokenizer, TextBesideFactsOfItsTokensHasNone) {
  data("a", hash_of("gpt2"));
  config_.data.tokenizer = "bytes";
  if (world_rank() == 0) std::ofstream(directory_.path("a.txt")) << "text";
  MPI_Barrier(MPI_COMM_WORLD);
  config_.data.train = {directory_.path("a.txt")};
  EXPECT_EQ(chosen().format, "bytes");
}

TEST_F(ChooseTokenizer, AResumedRunKeepsTheCheckpoints) {
  checkpoint_with(named_run_tokenizer(golden + "gpt2"));
  config_.data.train = {data("a", hash_of("gpt2"))};
  EXPECT_EQ(chosen().hash, hash_of("gpt2"));
  EXPECT_EQ(chosen().datasets.size(), 1U);
  config_.data.train = {data("b", hash_of("llama3"))};
  EXPECT_THAT(refusal(), HasSubstr("b.bin was made by another"));
  config_.data.tokenizer = golden + "llama3";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("step-000007.h5 was not trained on tokens"),
                               HasSubstr("--set data.tokenizer_hash=" + hash_of("llama3"))));
  config_.data.tokenizer_hash = hash_of("llama3");
  EXPECT_EQ(chosen().hash, hash_of("llama3"));
  config_.data.tokenizer_hash = hash_of("gpt2");
  EXPECT_TRUE(is_usage_error([&] { chosen(); }));
}

TEST_F(ChooseTokenizer, ACheckpointMayNameItsHashAlone) {
  checkpoint_with({.name = {}, .hash = hash_of("gpt2"), .format = {}});
  EXPECT_EQ(chosen().hash, hash_of("gpt2"));
  EXPECT_TRUE(chosen().datasets.empty());
  model_with("gpt2");
  EXPECT_EQ(chosen().datasets.size(), 2U) << "the model has the files of that hash";
  config_.data.train = {data("b", hash_of("llama3"))};
  EXPECT_THAT(refusal(), HasSubstr("b.bin was made by another"));
}

TEST_F(ChooseTokenizer, IsNotAnotherThanTheJobNamesByHash) {
  config_.data.tokenizer_hash = hash_of("llama3");
  EXPECT_EQ(chosen().hash, hash_of("llama3")) << "known by its hash alone";
  config_.data.tokenizer = golden + "gpt2";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("is not that of data.tokenizer_hash"),
                               HasSubstr("leave data.tokenizer_hash out")));
}

TEST_F(ChooseTokenizer, OfADamagedCheckpointIsAnErrorOfAllRanks) {
  checkpoint_with(named_run_tokenizer(golden + "gpt2"));
  if (world_rank() == 0) {
    const std::string file = config_.checkpoint.directory + "/step-000007.h5";
    std::string bytes = contents(file);
    const std::size_t at = bytes.find("\"added_tokens\"");
    ASSERT_NE(at, std::string::npos);
    bytes[at + 1] = 'A';
    std::ofstream(file, std::ios::binary) << bytes;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(error_of([&] { chosen(); }),
              AllOf(HasSubstr("cannot resume from"), HasSubstr("/tokenizer/tokenizer.json block 0"),
                    HasSubstr("checkpoint.resume=never")));
}

TEST(WithTokenizerHash, AddsTheHashToTheData) {
  EXPECT_EQ(with_tokenizer_hash("{\"a\": 1}", ""), "{\"a\": 1}");
  const auto job = nlohmann::json::parse(with_tokenizer_hash(R"({"data": {"seed": 1}})", "ab"));
  EXPECT_EQ(job, nlohmann::json::parse(R"({"data": {"seed": 1, "tokenizer_hash": "ab"}})"));
}

}  // namespace
}  // namespace triax::test
