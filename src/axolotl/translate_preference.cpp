// SPDX-License-Identifier: Apache-2.0
// Losses of pairs of answers (rl), and noise on embeddings.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/axolotl/parts.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 3> losses = {"dpo", "orpo", "simpo"};

// Sets a key of the job to the number of the first of these keys that the file has.
template <class... Keys>
void set_number(AxolotlJob& job, const std::string& key, Keys... keys) {
  for (const char* from : {keys...})
    if (const auto value = job.number(from)) return job.set(key, *value, from);
}

void check_dpo(AxolotlJob& job) {
  const char* key = "dpo_loss_type";
  const ordered_json* const types = job.find(key);
  if (types != nullptr && *types != ordered_json("sigmoid") &&
      *types != ordered_json::array({"sigmoid"}))
    job.refuse(key, "only the loss of DPO itself is built. Set it to [\"sigmoid\"]");
}

// TRL adds the cross-entropy of chosen answers to SimPO, times cpo_alpha, whose default is 1.
void set_chosen_weight_of_simpo(AxolotlJob& job) {
  if (job.has("cpo_alpha")) return set_number(job, "loss.chosen_weight", "cpo_alpha");
  job.set("loss.chosen_weight", 1.0, "rl");
  job.remark("cpo_alpha is 1 unless the file says otherwise: chosen answers are trained too");
}

}  // namespace

void translate_preference(AxolotlJob& job) {
  set_number(job, "neftune_noise_alpha", "neftune_noise_alpha", "noisy_embedding_alpha");
  if (!job.is_on("rl")) return;
  const auto loss = job.text("rl");
  if (!loss) return;
  if (std::ranges::find(losses, *loss) == losses.end())
    return job.refuse("rl",
                      fmt::format("\"{}\" is not built. Set it to dpo, orpo or simpo", *loss));
  job.set("loss.type", *loss, "rl");
  if (*loss == "orpo")
    job.remark("The cross-entropy counts the tokens of chosen answers, and TRL's the prompt's too");
  set_number(job, "loss.beta", "rl_beta", "dpo_beta", "orpo_alpha");
  if (*loss == "dpo") {
    check_dpo(job);
    set_number(job, "loss.label_smoothing", "dpo_label_smoothing");
    set_number(job, "loss.chosen_weight", "rpo_alpha");
  }
  if (*loss == "simpo") {
    set_chosen_weight_of_simpo(job);
    set_number(job, "loss.simpo_gamma", "simpo_gamma");
  }
}

}  // namespace triax
