// SPDX-License-Identifier: Apache-2.0
// model_from_huggingface: the text of a config.json alone.
#include <gmock/gmock.h>

#include "src/model/families/families.hpp"
#include "tests/config/model_texts.hpp"

namespace triax {
namespace {
using namespace testing_support;
using testing::HasSubstr;

TEST(ModelFromHuggingFace, Gpt2Defaults) {
  const auto m = model(R"({"model_type": "gpt2"})");
  EXPECT_EQ(m.architecture, "gpt2");
  EXPECT_EQ(m.layers, 12);
  EXPECT_EQ(m.heads, 12);
  EXPECT_EQ(m.kv_heads, 12);
  EXPECT_EQ(m.head_size, 64);
  EXPECT_EQ(m.hidden, 768);
  EXPECT_EQ(m.intermediate, 3072);
  EXPECT_EQ(m.positions, 1024);
  EXPECT_EQ(m.vocabulary, 50257);
  EXPECT_EQ(m.norm_epsilon, 1e-5F);
  EXPECT_TRUE(m.tied_embeddings);
  EXPECT_TRUE(m.qkv_bias);
  EXPECT_EQ(m.residual_dropout, 0.0F);
}

TEST(ModelFromHuggingFace, Gpt2AsPublished) {
  const auto m = model(
      R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
    "embd_pdrop": 0.2, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024,
    "n_embd": 1024, "n_head": 16, "n_inner": null, "n_layer": 24, "n_positions": 1024, "resid_pdrop": 0.3, "summary_type": "cls_index",
    "summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257, "whatever.else": 1})");
  EXPECT_EQ(m.intermediate, 4096);
  EXPECT_EQ(m.attention_dropout, 0.1F);
  EXPECT_EQ(m.embedding_dropout, 0.2F);
  EXPECT_EQ(m.residual_dropout, 0.3F);
}

TEST(ModelFromHuggingFace, LlamaAsPublished) {
  const auto m = model(
      R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 5632,
    "max_position_embeddings": 2048, "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 22, "num_key_value_heads": 4,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "float32", "vocab_size": 32000})");
  EXPECT_EQ(m.architecture, "llama");
  EXPECT_EQ(m.kv_heads, 4);
  EXPECT_EQ(m.head_size, 64);
  EXPECT_EQ(m.rope_theta, 10000.0);
  EXPECT_FALSE(m.qkv_bias);
  EXPECT_FALSE(m.tied_embeddings);
}

TEST(ModelFromHuggingFace, Qwen2OfTransformers5) {
  const auto m = model(
      R"({"model_type": "qwen2", "hidden_size": 896, "num_attention_heads": 14, "num_key_value_heads": 2, "num_hidden_layers": 2,
    "layer_types": ["full_attention", "full_attention"], "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}, "use_sliding_window": false,
    "sliding_window": 32768, "max_window_layers": 21, "tie_word_embeddings": true, "head_dim": 32})");
  EXPECT_EQ(m.architecture, "qwen2");
  EXPECT_EQ(m.rope_theta, 1e6);
  EXPECT_EQ(m.head_size, 32);
  EXPECT_EQ(m.intermediate, 22016);
  EXPECT_EQ(m.vocabulary, 151936);
  EXPECT_TRUE(m.qkv_bias);
}

TEST(ModelFromHuggingFace, KeyValueHeadsDefaultToHeads) {
  EXPECT_EQ(
      model(R"({"model_type": "llama", "num_attention_heads": 8, "hidden_size": 64})").kv_heads, 8);
}

TEST(ModelFromHuggingFace, ClassNamesAreEnough) {
  EXPECT_EQ(model(R"({"architectures": ["Qwen2ForCausalLM"]})").architecture, "qwen2");
}

TEST(ModelFromHuggingFace, RefusesMathematicsThatIsNotBuilt) {
  const auto llama = [](const std::string& more) {
    return model_error("{\"model_type\": \"llama\",\n" + more + "}");
  };
  EXPECT_EQ(
      llama(R"("qk_norm": true)"),
      "config.json:2: model.qk_norm: true is refused (this architecture has none). Use a model "
      "that does without it");
  for (const char* refused :
       {R"("partial_rotary_factor": 0.5)", R"("rope_parameters": {"partial_rotary_factor": 0.5})",
        R"("rope_scaling": {"rope_type": "default", "mrope_section": [1, 2]})",
        R"("rope_parameters": {"full_attention": {"rope_theta": 10000.0}})",
        R"("attention_multiplier": 0.5)", R"("residual_multiplier": 0.22)",
        R"("embedding_multiplier": 12)", R"("logits_scaling": 8)", R"("sliding_window": 4096)",
        R"("use_sliding_window": true)", R"("use_qk_norm": true)", R"("num_local_experts": 8)"})
    EXPECT_THAT(llama(refused), AllOf(HasSubstr("config.json:2: model."), HasSubstr("is refused")))
        << refused;
  for (const char* harmless :
       {R"("partial_rotary_factor": 1.0)", R"("attention_multiplier": 1)", R"("qk_norm": false)",
        R"("sliding_window": null)", R"("layer_types": ["full_attention"])",
        R"("quantization_config": {"quant_method": "awq", "bits": 4})"})
    EXPECT_EQ(llama(harmless), "") << harmless;
  EXPECT_THAT(llama(R"("hidden_act": "gelu")"),
              HasSubstr("\"gelu\" is not allowed (allowed: \"silu\", \"swish\")"));
  EXPECT_THAT(model_error(R"({"model_type": "gpt2", "activation_function": "relu"})"),
              HasSubstr("model.activation_function"));
  EXPECT_THAT(model_error(R"({"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": true})"),
              HasSubstr("is refused"));
}

TEST(ModelFromHuggingFace, NamesTheKnownFamilies) {
  EXPECT_EQ(model_error(R"({"model_type": "llama2"})"),
            "config.json:1: model.model_type: \"llama2\" is not known (known: " + family_names() +
                "; nearest: llama)");
  EXPECT_THAT(model_error(R"({"architectures": ["Llama4ForCausalLM"], "model_type": "llama"})"),
              AllOf(HasSubstr("\"Llama4ForCausalLM\" is not known"), HasSubstr("nearest: llama")));
  EXPECT_THAT(model_error(R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "llama"})"),
              HasSubstr("contradicts llama"));
  EXPECT_THAT(model_error("{}"), HasSubstr("model.architecture: missing"));
}

TEST(ModelFromHuggingFace, ChecksTheShape) {
  EXPECT_THAT(model_error(R"({"model_type": "gpt2", "n_head": 5})"),
              HasSubstr("model.n_embd: 768 is not a multiple of model.n_head 5"));
  EXPECT_THAT(model_error(R"({"model_type": "llama", "num_key_value_heads": 5})"),
              HasSubstr("5 does not divide model.num_attention_heads 32"));
  EXPECT_THAT(
      model_error(R"({"model_type": "llama", "hidden_size": 33, "num_attention_heads": 2})"),
      HasSubstr("33 is not a multiple"));
  EXPECT_THAT(model_error(R"({"model_type": "llama", "head_dim": 33})"), HasSubstr("33 is odd"));
  EXPECT_THAT(
      model_error(
          R"({"model_type": "llama", "head_dim": 1000000, "num_attention_heads": 1000000})"),
      HasSubstr("1000000 x 1000000 heads is wider than 2147483647"));
  EXPECT_THAT(model_error(R"({"model_type": "gpt2", "n_layer": 1000000, "n_embd": 1000000000})"),
              AllOf(HasSubstr("model.n_layer: 1000000 is not allowed"),
                    HasSubstr("model.n_embd: 1000000000 is not allowed")));
  EXPECT_THAT(model_error(R"({"model_type": "gpt2", "n_layer": 0, "vocab_size": "big"})"),
              AllOf(HasSubstr("model.n_layer: 0 is not allowed"),
                    HasSubstr("model.vocab_size: expected integer")));
}

TEST(ModelFromHuggingFace, LlamaWithBiases) {
  const auto attention = model(R"({"model_type": "llama", "attention_bias": true})");
  EXPECT_TRUE(attention.qkv_bias && attention.attention_output_bias && !attention.mlp_bias);
  const auto mlp = model(R"({"model_type": "llama", "mlp_bias": true})");
  EXPECT_TRUE(!mlp.qkv_bias && !mlp.attention_output_bias && mlp.mlp_bias);
  const auto qwen2 = model(R"({"model_type": "qwen2"})");
  EXPECT_TRUE(qwen2.qkv_bias && !qwen2.attention_output_bias && !qwen2.mlp_bias);
}

// Qwen2Config has a default if the key is missing, and uses the number of query heads if it is
// null.
TEST(ModelFromHuggingFace, KeyValueHeadsOfQwen2AreThoseOfHuggingFace) {
  const auto heads = [](const std::string& more) {
    return model(R"({"model_type": "qwen2", "head_dim": 64, "num_attention_heads": 64)" + more +
                 "}")
        .kv_heads;
  };
  EXPECT_EQ(heads(""), 32);
  EXPECT_EQ(heads(R"(, "num_key_value_heads": null)"), 64);
  EXPECT_EQ(heads(R"(, "num_key_value_heads": 8)"), 8);
  EXPECT_THAT(model_error(R"({"model_type": "qwen2", "num_attention_heads": 16})"),
              HasSubstr("model.num_key_value_heads: 32, Hugging Face's default, does not divide "
                        "model.num_attention_heads 16"));
}

}  // namespace
}  // namespace triax
