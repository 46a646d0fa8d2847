// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a translation: each reads Axolotl's keys of one subject and sets those of the job.
#include "src/axolotl/axolotl_job.hpp"

namespace triax {

void translate_model(AxolotlJob& job);       // model, tokenizer, template, trained parameters
void translate_adapter(AxolotlJob& job);     // lora, model.quantize
void translate_steps(AxolotlJob& job);       // batch, epochs, schedule, validation, checkpoints
void translate_optimizer(AxolotlJob& job);   // optimizer, clipping, precision
void translate_memory(AxolotlJob& job);      // recomputation, DeepSpeed, FSDP, ranks
void translate_data(AxolotlJob& job);        // datasets and their format
void translate_preference(AxolotlJob& job);  // losses of preferences, noise on embeddings

}  // namespace triax
