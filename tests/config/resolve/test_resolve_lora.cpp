// SPDX-License-Identifier: Apache-2.0
// model.quantize: the bits in which the frozen base of adapters stays. Keys of the section lora:
// tests/config/lora.
#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::HasSubstr;

class ResolveLora : public testing_support::JobFiles {
 protected:
  void SetUp() override {
    JobFiles::SetUp();
    write("hf/config.json", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
        "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 300,
        "max_position_embeddings": 128})");
    write("hf/model.safetensors", "x");
  }
  // A job whose model has these members, with further members after it.
  std::string job(const std::string& model, const std::string& more) const {
    return write("job.json", R"({"model": {)" + model + R"(}, "train_micro_batch_size_per_gpu": 1,
  "data": {"train": "text.txt", "tokenizer": "bytes"})" +
                                 more + "}\n");
  }
  KeptBits kept(const std::string& bits, const std::string& more) const {
    return load_job(job(R"("from": "hf", "quantize": ")" + bits + "\"", more), {}, 1)
        .config.model.kept;
  }
  const std::string lora_ = R"(, "lora": {"r": 4})";
};

TEST_F(ResolveLora, TheBaseStaysInItsBits) {
  for (const char* bits : {"nf4", "nf4-double", "int8"}) {
    EXPECT_EQ(kept(bits, lora_), (KeptBits{bits, 4}));
    EXPECT_EQ(kept(bits, lora_ + R"(, "bf16": {"enabled": true})"), (KeptBits{bits, 2}));
  }
  EXPECT_FALSE(kept("none", lora_));
  EXPECT_FALSE(load_job(job(R"("from": "hf")", ""), {}, 1).config.model.kept);
}

TEST_F(ResolveLora, RefusesBitsThatNothingKeeps) {
  const std::string nf4 = R"("from": "hf", "quantize": "nf4")";
  EXPECT_THAT(error_of(job(nf4, "")),
              HasSubstr("job.json:1: model.quantize: weights in few bits are frozen: adapters are "
                        "trained on them. Add a section lora"));
  EXPECT_THAT(
      error_of(job(nf4, lora_ + R"(, "bf16": {"enabled": true}, "fp8": {"enabled": true})")),
      HasSubstr("model.quantize: fp8.enabled multiplies plain weights in 8 bits"));
  EXPECT_THAT(error_of(job(R"("config": "hf/config.json", "quantize": "nf4")", lora_)),
              HasSubstr("model.quantize: it keeps the weights of files in few bits. Set "
                        "model.from"));
  EXPECT_THAT(error_of(job(R"("from": "hf", "quantize": "fp4")", lora_)),
              HasSubstr(R"(model.quantize: "fp4" is not allowed (allowed: "none", "nf4")"));
}

}  // namespace
}  // namespace triax
