// SPDX-License-Identifier: Apache-2.0
// Rows of batch, optimizer, scheduler, frozen tensors, clipping, precision and printing, under
// DeepSpeed's names and defaults.
#include <algorithm>
#include <iterator>

#include "src/config/config.hpp"
#include "src/config/keys/key_table.hpp"
#include "src/config/preference.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;

void add_batch(Keys& k) {
  k.push_back(
      obeyed(
          "train_batch_size", integer, "auto", from_to(1, 1e12),
          "global batch = micro x accumulation x parallel.data; it or the micro-batch must be set")
          .in("samples"));
  k.push_back(obeyed("train_micro_batch_size_per_gpu", integer, "auto", from_to(1, 1e9),
                     "samples per forward pass; auto: from the other two, else 1")
                  .in("samples"));
  k.push_back(obeyed("gradient_accumulation_steps", integer, "auto", from_to(1, 1e6),
                     "micro-batches per step; auto: from the other two, else 1")
                  .in("micro-batches"));
  k.push_back(refused("managed_gradient_accumulation", boolean, true,
                      "the trainer counts micro-batches", "triax always does"));
}

void add_frozen(Keys& k) {
  k.push_back(obeyed(
      "freeze", strings, nullptr, anything(),
      "tensors that are not trained, by Hugging Face's names; patterns as in a shell: * (dots "
      "too), ? and [...] match the whole name or a module's: \"model.embed_tokens\", "
      "\"model.layers.[0-9]\", \"*.bias\". A frozen tensor has no gradient and no optimizer "
      "state, and layers before the first trained one have no backward pass"));
  k.push_back(obeyed("train_only", strings, nullptr, anything(),
                     "the only tensors that are trained, by patterns as in freeze; all others are "
                     "frozen"));
}

void add_fp16(Keys& k) {
  const std::string p = "fp16.";
  k.push_back(obeyed(p + "enabled", boolean, false, anything(),
                     "train in float16, with float32 master weights and a scaled loss")
                  .or_auto());
  k.push_back(obeyed(p + "loss_scale", number, 0.0, at_least(0),
                     "factor on the loss (the mean over the global batch, so that it acts the same "
                     "on every grid); 0: dynamic, halved on overflow and doubled after "
                     "loss_scale_window steps without one"));
  k.push_back(obeyed(p + "initial_scale_power", integer, 16, from_to(0, 64),
                     "the dynamic factor starts at 2 to this power"));
  k.push_back(obeyed(p + "loss_scale_window", integer, 1000, at_least(1),
                     "steps without overflow after which the factor doubles")
                  .in("steps"));
  k.push_back(obeyed(p + "hysteresis", integer, 2, from_to(1, 1e9),
                     "overflows before the factor is halved"));
  k.push_back(obeyed(p + "consecutive_hysteresis", boolean, false, anything(),
                     "a step without overflow restarts the count of hysteresis"));
  k.push_back(obeyed(p + "min_loss_scale", number, 1.0, above(0), "smallest dynamic factor"));
  k.push_back(accepted(p + "auto_cast", boolean, nullptr, "all of the model is in float16"));
  k.push_back(refused(p + "fp16_master_weights_and_grads", boolean, false,
                      "master weights in float16", "master weights are float32 here"));
}

void add_bf16(Keys& k) {
  for (const std::string section : {"bf16.", "bfloat16."}) {
    k.push_back(obeyed(section + "enabled", boolean, false, anything(),
                       "train in bfloat16, with float32 master weights")
                    .or_auto());
    for (const auto* name : {"bf16_master_weights_and_grads", "bf16_optimizer_states"})
      k.push_back(refused(section + name, boolean, false, "optimizer state in bfloat16",
                          "master weights and moments are float32 here"));
    for (const auto* name :
         {"immediate_grad_update", "check_grad_overflow", "auto_cast", "loss_scale"})
      k.push_back(accepted(section + name, any, nullptr, "internal to DeepSpeed"));
  }
}

void add_fp8(Keys& k) {
  k.push_back(obeyed("fp8.enabled", boolean, false, anything(),
                     "with bf16: multiply the linear maps of the blocks in 8 bits (E4M3, gradients "
                     "E5M2), each matrix scaled by its largest value; a device without 8-bit "
                     "products multiplies in bf16, with the same rounding"));
}

// Names and meanings of the preference losses.
void add_loss(Keys& k) {
  std::vector<std::string> names = {"next_token"};
  std::string meanings;
  for (const PreferenceLoss& loss : preference_losses()) {
    names.emplace_back(loss.name);
    meanings += std::string("; ") + loss.name + ": " + loss.meaning;
  }
  k.push_back(
      obeyed("loss.type", string, "next_token", one_of(std::move(names)),
             "the others compare pairs of answers (data.format \"preference\")" + meanings));
  k.push_back(obeyed("loss.beta", number, 0.1, from_to(1e-6, 1e3),
                     "of preference losses, as in TRL: dpo, simpo: factor of the difference of "
                     "scores; orpo: factor of the odds ratio beside the chosen answer's loss"));
  k.push_back(obeyed("loss.label_smoothing", number, 0.0, from_below(0, 0.5),
                     "dpo, simpo: probability that the answers of a pair are swapped"));
  k.push_back(obeyed("loss.simpo_gamma", number, 0.5, at_least(0), "simpo: margin of rewards"));
  k.push_back(
      obeyed("loss.chosen_weight", number, 0.0, from_to(0, 1e3),
             "dpo, simpo: weight of the chosen answers' cross-entropy, which is added (TRL's "
             "rpo_alpha, cpo_alpha); orpo has it with weight 1"));
}

void add_noise(Keys& k) {
  k.push_back(obeyed("neftune_noise_alpha", number, 0.0, at_least(0),
                     "NEFTune: in training, uniform noise of at most this / sqrt(data.seq_length x "
                     "hidden size) on each element of the tokens' embeddings; 0: none"));
}

void add_precision(Keys& k) {
  const std::string torch = "PyTorch's own; bf16 and fp16 are triax's mixed precision";
  k.push_back(obeyed("gradient_clipping", number, 0.0, at_least(0),
                     "clip the global L2 norm of the gradient to this; 0: never; auto: 1.0")
                  .or_auto());
  k.push_back(obeyed("gradient_clipping_value", number, nullptr, at_least(0),
                     "clip each element of the gradient to [-x, x], instead of the norm; absent or "
                     "0: never"));
  k.push_back(obeyed("loss.z_coefficient", number, 0.0, at_least(0),
                     "z-loss: adds this times the square of the log-sum-exp of the logits to the "
                     "training loss of each token (PaLM: 1e-4); 0: none"));
  add_fp16(k);
  add_bf16(k);
  add_fp8(k);
  k.push_back(refused("amp.enabled", boolean, false, "NVIDIA apex", torch).or_auto());
  k.push_back(refused("torch_autocast.enabled", boolean, false, "PyTorch's mixed precision", torch)
                  .or_auto());
  k.push_back(
      accepted("amp.*", any, nullptr, "parameters of apex, unused while amp.enabled is false"));
  k.push_back(accepted("torch_autocast.dtype", string, nullptr,
                       "unused while torch_autocast.enabled is false"));
  k.push_back(accepted("torch_autocast.lower_precision_safe_modules", strings, nullptr,
                       "unused while torch_autocast.enabled is false"));
  k.push_back(
      obeyed("data_types.grad_accum_dtype", string, nullptr, one_of({"fp32", "bf16", "fp16"}),
             "type in which gradients are kept, and summed over micro-batches and between ranks; "
             "absent: as in DeepSpeed, fp32 for a bf16 model at ZeRO-0, else the model's type"));
  k.push_back(accepted("data_types.param_dtype", string, nullptr,
                       "bf16 and fp16 set the type of the parameters"));
  k.push_back(accepted("data_types.buffer_dtype", string, nullptr,
                       "bf16 and fp16 set the type of the buffers"));
}

}  // namespace

Keys training_keys() {
  Keys k;
  add_batch(k);
  std::ranges::move(optimizer_keys(), std::back_inserter(k));
  std::ranges::move(scheduler_keys(), std::back_inserter(k));
  add_frozen(k);
  add_loss(k);
  add_noise(k);
  add_precision(k);
  k.push_back(obeyed("steps_per_print", integer, 10, at_least(1), "steps between lines of progress")
                  .in("steps")
                  .or_auto());
  k.push_back(
      obeyed("dump_state", boolean, false, anything(), "print the resolved job at the start"));
  return k;
}

}  // namespace triax
