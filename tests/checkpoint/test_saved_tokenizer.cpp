// SPDX-License-Identifier: Apache-2.0
// A run's tokenizer is byte for byte in its checkpoints and its export, in every way of writing.
#include "src/checkpoint/saved_tokenizer.hpp"

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "src/huggingface/huggingface_export.hpp"
#include "src/text/tokenizer_files.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using Files = std::map<std::string, std::string>;

const std::string golden = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/gpt2/";

class SavedTokenizer : public testing::Test {
 protected:
  void SetUp() override {
    if (world_rank() == 0) {
      fs::create_directories(from_);
      for (const auto& [name, bytes] : files_)
        std::ofstream(from_ + "/" + name, std::ios::binary) << bytes;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // The tokenizer as rank 0 reads it and all ranks know it.
  RunTokenizer tokenizer() const {
    return shared_tokenizer(MPI_COMM_WORLD,
                            world_rank() == 0 ? named_run_tokenizer(from_) : RunTokenizer());
  }
  // Trains two steps; returns the checkpoint.
  std::string run(const std::string& name, const nlohmann::json& settings) const {
    Layout layout = {.micro = 2};
    if (world_size() == 2) layout = {.data = 2, .micro = 2, .zero = 2};
    if (world_size() == 4) layout = {.tensor = 2, .data = 2, .micro = 2, .zero = 1};
    auto job = golden_job(read_golden("gpt2-tiny"), layout);
    job["run"]["directory"] = directory_.path(name);
    job["run"]["steps"] = 2;
    job["checkpoint"] = {{"resume", "never"}, {"interval", 1}};
    job["checkpoint"].update(settings);
    job["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] = true;
    const LoadedJob loaded = load(job, world_size());
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
    Trainer(loaded, grid, std::nullopt, tokenizer()).run();
    MPI_Barrier(MPI_COMM_WORLD);
    return checkpoint_path(directory_.path(name) + "/checkpoints", 2);
  }

  SharedDirectory directory_;
  std::string from_ = directory_.path("from");
  // Long enough for several pages and more than one chunk of checksums.
  Files files_ = {{"tokenizer.json", contents(golden + "tokenizer.json")},
                  {"tokenizer_config.json", R"({"eos_token": "<|end|>"})"},
                  {"chat_template.jinja", std::string("\0\xff\r\n{{x}}", 9)},
                  {"vocab.json", std::string(700'000, 'v')},
                  {"generation_config.json", "{ \"eos_token_id\" : [420,421] }\n"}};
};

TEST_F(SavedTokenizer, IsByteForByteInCheckpointsAndExport) {
  const std::vector<std::pair<std::string, nlohmann::json>> ways = {
      {"direct", {{"async", false}}},
      {"async", {{"async", true}}},
      {"parts", {{"async", true}, {"files", 3}}},
      {"collective", {{"collective", true}}},
      {"none", {{"interval", 0}, {"at_end", false}}}};
  for (const auto& [name, settings] : ways) {
    SCOPED_TRACE(name);
    const std::string file = run(name, settings);
    if (name != "none") {
      EXPECT_TRUE(verify_checkpoint(file, MPI_COMM_WORLD).damaged.empty());
      const CheckpointReader reader(file);
      const TokenizerFiles saved = saved_tokenizer_files(reader);
      EXPECT_EQ(saved.bytes, files_);
      EXPECT_EQ(saved.tokenizer, "tokenizer.json");
      EXPECT_EQ(saved_tokenizer(reader).hash, open_tokenizer(from_)->fingerprint());
      const auto job = nlohmann::json::parse(reader.header().job);
      EXPECT_EQ(job["data"]["tokenizer_hash"], open_tokenizer(from_)->fingerprint());
    }
    for (const auto& [exported, bytes] : files_)
      EXPECT_EQ(contents(directory_.path(name) + "/huggingface/" + exported), bytes) << exported;
  }
}

TEST_F(SavedTokenizer, AByteThatChangedIsFound) {
  const std::string file = run("run", {{"async", false}});
  if (world_rank() != 0) return;
  std::string bytes = contents(file);
  const std::size_t at = bytes.find("[420,421]");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = '5';
  std::ofstream(file, std::ios::binary) << bytes;
  const Verification found = verify_checkpoint(file, MPI_COMM_SELF);
  ASSERT_EQ(found.damaged.size(), 1U);
  EXPECT_EQ(found.damaged.front().tensor, "/tokenizer/generation_config.json");
  const auto damaged = AllOf(HasSubstr(file + " is damaged"),
                             HasSubstr("/tokenizer/generation_config.json block 0"));
  EXPECT_THAT(error_of([&] { open_named_tokenizer(file); }), damaged);
  EXPECT_THAT(
      error_of([&] { export_huggingface(file, directory_.path("out"), {}, MPI_COMM_SELF); }),
      damaged);
}

TEST_F(SavedTokenizer, OpensAsThatOfTheDirectory) {
  const std::string file = run("run", {{"async", false}});
  const OpenedTokenizer there = open_with_facts(from_), here = open_named_tokenizer(file);
  EXPECT_EQ(here.tokenizer->fingerprint(), there.tokenizer->fingerprint());
  EXPECT_EQ(here.tokenizer->end_token(), there.tokenizer->end_token());
  EXPECT_EQ(here.file, file + "/tokenizer.json");
  if (world_rank() != 0) return;
  // A file that the directory rule would not choose, and a class that no file names.
  RunTokenizer named = named_run_tokenizer(from_ + "/tokenizer.json");
  EXPECT_EQ(tokenizer_text(named), R"({"file":"tokenizer.json"})");
  named.files.class_name = "GPT2Tokenizer";
  EXPECT_EQ(tokenizer_text(named), R"({"class":"GPT2Tokenizer","file":"tokenizer.json"})");
  EXPECT_EQ(tokenizer_text({}), "");
}

TEST_F(SavedTokenizer, IsKnownAlikeOnAllRanks) {
  const RunTokenizer shared = tokenizer();
  EXPECT_EQ(shared.hash, open_tokenizer(from_)->fingerprint());
  EXPECT_EQ(shared.vocabulary, open_tokenizer(from_)->vocabulary());
  EXPECT_EQ(shared.datasets.size(), files_.size());
  EXPECT_EQ(shared.files.bytes.size(), world_rank() == 0 ? files_.size() : 0);
}

}  // namespace
}  // namespace triax::test
