// SPDX-License-Identifier: Apache-2.0
#include "tests/support/job_builder.hpp"

#include <fmt/format.h>

#include "src/config/model/huggingface.hpp"
#include "tests/io/rank_fixtures.hpp"

namespace triax::test {

std::string Layout::text() const {
  return fmt::format(
      "tensor {} pipeline {} data {}, {}, chunks {}, micro {}, ZeRO {}, sequence parallel {}, "
      "recompute {} {}{}{}, overlap {}, persistence {}, {}",
      tensor, pipeline, data, schedule, chunks, micro, zero, sequence_parallel, recompute,
      granularity, partition ? " partitioned" : "", keep_outputs ? " keep outputs" : "", overlap,
      persistence, type);
}

bool carries(const GoldenCase& golden, const Layout& layout) {
  const ModelConfig model =
      model_from_huggingface(contents(golden.directory + "/config.json"), golden.name);
  const bool heads = model.heads % layout.tensor == 0 &&
                     (model.kv_heads % layout.tensor == 0 || layout.tensor % model.kv_heads == 0);
  const bool blocks = model.layers >= layout.pipeline * layout.chunks;
  const bool batch = golden.global_batch % (layout.micro * layout.data) == 0;
  const std::int64_t accumulation = golden.global_batch / (layout.micro * layout.data);
  return heads && blocks && batch &&
         (layout.schedule != "interleaved" || accumulation % layout.pipeline == 0);
}

nlohmann::json golden_job(const GoldenCase& golden, const Layout& layout) {
  nlohmann::json job;
  job["model"] = {{"from", golden.directory}};
  job["data"] = {
      {"train", {golden.tokens}}, {"seq_length", golden.sequence_length}, {"shuffle", false}};
  if (golden.mask_documents) job["data"]["documents"] = "mask";
  if (golden.mask_end_token_loss) job["data"]["mask_end_token_loss"] = true;
  job["parallel"] = {{"tensor", layout.tensor}, {"pipeline", layout.pipeline},
                     {"data", layout.data},     {"schedule", layout.schedule},
                     {"chunks", layout.chunks}, {"sequence_parallel", layout.sequence_parallel}};
  job["run"] = {{"steps", golden.steps}, {"progress", "none"}, {"device", "cpu"}};
  job["checkpoint"] = {{"resume", "never"}, {"at_end", false}};
  job["train_batch_size"] = golden.global_batch;
  job["train_micro_batch_size_per_gpu"] = layout.micro;
  job["optimizer"] = {{"type", "AdamW"},
                      {"params",
                       {{"lr", golden.lr},
                        {"betas", {golden.beta1, golden.beta2}},
                        {"eps", golden.epsilon},
                        {"weight_decay", golden.weight_decay}}}};
  if (golden.cosine)
    job["scheduler"] = {{"type", "cosine"},
                        {"params", {{"warmup", golden.warmup}, {"min_lr", golden.min_lr}}}};
  job["gradient_clipping"] = golden.clip;
  job["loss"] = {{"z_coefficient", golden.z_coefficient}};
  if (!golden.freeze.empty()) job["freeze"] = golden.freeze;
  if (!golden.adapter.empty()) job["lora"] = {{"adapter", golden.adapter}};
  if (!golden.train_only.empty()) job["train_only"] = golden.train_only;
  job["zero_optimization"] = {{"stage", layout.zero},
                              {"overlap_comm", layout.overlap},
                              {"stage3_param_persistence_threshold", layout.persistence}};
  if (layout.type != "f32") job[layout.type] = {{"enabled", true}};
  if (layout.type == "fp8") job["bf16"] = {{"enabled", true}};
  // The same type for every ZeRO stage, so that they can be compared.
  if (job.contains("bf16")) job["data_types"] = {{"grad_accum_dtype", "bf16"}};
  job["activation_checkpointing"] = {{"number_checkpoints", layout.recompute},
                                     {"granularity", layout.granularity},
                                     {"keep_outputs", layout.keep_outputs},
                                     {"partition_activations", layout.partition}};
  return job;
}

void offload_optimizer(nlohmann::json& job, const std::string& directory) {
  auto& zero = job["zero_optimization"];
  zero["offload_optimizer"] = {{"device", "nvme"},
                               {"nvme_path", directory},
                               {"pipeline_read", true},
                               {"pipeline_write", true}};
  zero["sub_group_size"] = 2000;
}

void offload_parameters(nlohmann::json& job, const std::string& directory) {
  job["zero_optimization"]["offload_param"] = {
      {"device", "nvme"}, {"nvme_path", directory}, {"max_in_cpu", 0}};
}

void add_dropout(nlohmann::json& job) {
  for (const char* place : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) job["model"][place] = 0.1;
}

LoadedJob load(const nlohmann::json& job, int ranks) {
  const TempDirectory own;  // of this rank alone, so that no rank waits for another's file
  return load_job(own.file("job.json", job.dump()), {}, ranks);
}

PlacedConfig golden_config(const Layout& layout, const std::string& name) {
  return {load(golden_job(read_golden(name), layout), layout.ranks()).config, {}};
}

ProcessGrid make_grid(MPI_Comm world, const Config& config) {
  return {world, grid_shape(config.parallel), {}, 0.0, config.run.space};
}

SubCommunicator::SubCommunicator(int ranks) {
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() / ranks, world_rank(), &comm_);
}

SubCommunicator::~SubCommunicator() {
  MPI_Comm_free(&comm_);
}

}  // namespace triax::test
