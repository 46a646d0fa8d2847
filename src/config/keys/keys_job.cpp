// SPDX-License-Identifier: Apache-2.0
// Rows of data, parallel, run, checkpoint and lora: the sections that triax adds to ds_config.json.
#include <iterator>

#include "src/config/config.hpp"
#include "src/config/keys/key_table.hpp"
#include "src/schedule/schedules.hpp"
#include "src/text/template/named/named_templates.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;

void add_data(Keys& k) {
  k.push_back(
      obeyed("data.train", sources, nullptr, anything(),
             "training files: text or tokens, patterns allowed (*, ? and [...], each within one "
             "level; \\ makes the next character literal; matches are sorted by bytes: shard_10 "
             "before shard_2); relative to the working directory, else to the job file. Or sources "
             "that are blended sample by sample: [{\"paths\": [...], \"weight\": 0.7}, ...], where "
             "a weight may be a list over steps, [{\"until_step\": N, \"weight\": 0.7}, "
             "{\"weight\": 0.2}]"));
  k.push_back(obeyed("data.valid", paths, nullptr, anything(), "validation files, as data.train"));
  k.push_back(obeyed("data.seq_length", integer, "auto", from_to(1, 1e9),
                     "length T of a sample; auto: the model's positions, at most 1024")
                  .in("tokens"));
  k.push_back(obeyed("data.shuffle", boolean, true, anything(),
                     "a new permutation of the samples in every epoch; false: file order"));
  k.push_back(obeyed("data.seed", integer, 1234, at_least(0), "seed of the permutation"));
  k.push_back(obeyed(
      "data.documents", string, "join", one_of({"join", "mask"}),
      "several documents in a sample. join: tokens see the documents before theirs; mask: tokens "
      "see their own document only, and positions begin anew in each. Documents are those of HDF5 "
      "and Megatron files and of JSON lines; in other token files the end token ends them"));
  k.push_back(obeyed("data.mask_end_token_loss", boolean, false, anything(),
                     "the loss leaves out the first token of a document, which the end token "
                     "before it cannot know (Megatron's --eod-mask-loss)"));
  k.push_back(obeyed(
      "data.tokenizer", string, "auto", anything(),
      "tokenizer that the data were made with: a directory or file, or gpt2:DIR for vocab.json and "
      "merges.txt of GPT-2; bytes: one token per byte, the only one for text files. It is stored "
      "in checkpoints and exports; token files made by another are refused. auto: that of the "
      "checkpoint, else of model.from. Text with model.from must set it"));
  k.push_back(obeyed("data.tokenizer_hash", string, nullptr, anything(),
                     "SHA-256 of the tokenizer (triax tokenizer inspect); job.json has it. Another "
                     "tokenizer is refused. Set it, to resume with another tokenizer than the "
                     "checkpoint's"));
}

void add_conversations(Keys& k) {
  k.push_back(obeyed("data.format", string, "tokens",
                     one_of({"tokens", "text", "chat", "instruction", "completion", "preference"}),
                     "lines of the data files: chat has messages, which go through the tokenizer's "
                     "chat template; instruction has instruction, input and output (Alpaca); "
                     "completion has prompt and completion; preference has prompt, chosen and "
                     "rejected, as texts or as messages. tokens and text: files of tokens or text, "
                     "told apart by content"));
  k.push_back(obeyed("data.fields", object, nullptr, anything(),
                     "names of fields in the files, by their usual names: {\"messages\": "
                     "\"conversations\", \"role\": \"from\", \"content\": \"value\"}; \"prompt\": "
                     "\"\": the texts of completion have none"));
  k.push_back(obeyed("data.roles", object, nullptr, anything(),
                     "roles of the files and the roles that the template knows: {\"bot\": "
                     "\"assistant\"}; human and gpt are user and assistant"));
  k.push_back(obeyed("data.train_on", string, "assistant", one_of({"assistant", "all", "last"}),
                     "tokens that train: what the assistant says, with its end of turn; all; or "
                     "the last answer"));
  k.push_back(obeyed("data.template", path, nullptr, anything(),
                     "chat template, instead of the tokenizer's own: a file (Jinja), or the name "
                     "of one that the program has (Axolotl's chat_template)")
                  .or_words(named_template_names()));
  k.push_back(obeyed("data.template_date", string, nullptr, anything(),
                     "date that the chat template sees, as 2026-01-31 or 2026-01-31T12:00:00; a "
                     "template that writes the date needs it"));
  k.push_back(obeyed(
      "data.validation_fraction", number, nullptr, above(0),
      "share of the lines of data.train, below 1, that are left out of training and validated on, "
      "in place of data.valid. A hash of the line decides, whatever the ranks, the order of the "
      "files and the seed; equal lines stay together. For data.format chat, instruction, "
      "completion and preference, with run.eval_interval"));
  for (const std::string part : {"train", "valid"})
    k.push_back(obeyed("data." + part + "_rows", string, nullptr, anything(),
                       "slice of the lines of data." + part +
                           ", whose files are read as one: \":1000\", \"90%:\", \"-500:\", as "
                           "the splits of Hugging Face's datasets. For data.format chat, "
                           "instruction, completion and preference"));
  k.push_back(obeyed("data.packing", boolean, false, anything(),
                     "several samples of data.format chat, instruction or completion in one row of "
                     "data.seq_length tokens, with data.documents mask; false: a row each"));
}

void add_parallel(Keys& k) {
  const auto ranks = from_to(1, 1e7);
  k.push_back(
      obeyed("parallel.tensor", integer, 1, ranks, "ranks that share each matrix (Megatron)")
          .in("ranks"));
  k.push_back(obeyed("parallel.pipeline", integer, 1, ranks, "pipeline stages").in("ranks"));
  k.push_back(
      obeyed("parallel.data", integer, "auto", ranks, "replicas; auto: ranks / (tensor x pipeline)")
          .in("ranks"));
  k.push_back(obeyed("parallel.schedule", string, "1f1b",
                     one_of_or_opening(schedule_names(), schedule_file_prefix),
                     "order of the pipeline's work; zero-bubble: 1f1b whose weight gradients fill "
                     "the waits, for ZeRO-0 and ZeRO-1; file:ORDER.csv: an order by hand, as "
                     "triax train --print-schedule writes it"));
  k.push_back(
      obeyed("parallel.chunks", integer, 1, from_to(1, 1e6),
             "model chunks per pipeline stage; more than 1 needs gpipe, interleaved or file:"));
  k.push_back(obeyed("parallel.stage_layers", numbers, nullptr, from_to(1, 1e6),
                     "transformer blocks of each pipeline stage, or of each of pipeline x chunks "
                     "model chunks in the model's order; unset: as even in FLOPs as can be; "
                     "\"by-speed\": by the speed of each stage's slowest rank, measured at the "
                     "start")
                  .or_words({"by-speed"})
                  .in("blocks"));
  k.push_back(obeyed("parallel.sequence_parallel", boolean, true, anything(),
                     "norms and residuals split along the sequence over the tensor ranks"));
  k.push_back(
      obeyed("parallel.order", string, "data,pipeline,tensor",
             one_of({"data,pipeline,tensor", "data,tensor,pipeline", "pipeline,data,tensor",
                     "pipeline,tensor,data", "tensor,data,pipeline", "tensor,pipeline,data"}),
             "the grid's axes, slowest first: neighbouring ranks differ in the last"));
  k.push_back(obeyed("parallel.tensor_across_nodes", boolean, false, anything(),
                     "let tensor groups span nodes (slow)"));
}

void add_loss_spike(Keys& k) {
  const std::string p = "run.loss_spike.";
  k.push_back(obeyed(
      p + "factor", number, 3.0, above(1),
      "a loss is a spike if it is above this many times the median of the losses before it, and "
      "more than 0.5 above it"));
  k.push_back(obeyed(p + "window", integer, 50, from_to(1, 1000),
                     "number of losses in the median: the last ones that were not spikes; until "
                     "the window is full no loss is a spike")
                  .in("steps"));
  k.push_back(
      obeyed(p + "action", string, "warn",
             one_of({std::begin(spike_action_names), std::end(spike_action_names)}),
             "response to a spike. warn: print a line; stop: end with status 3; rollback: go back "
             "to the newest checkpoint before the spike and continue with the samples after it"));
  k.push_back(obeyed(p + "max_rollbacks", integer, 3, from_to(1, 1000),
                     "most rollbacks in a row, each for a spike at most a window of steps after "
                     "the one before; one more spike there stops the run"));
}

void add_early_stopping(Keys& k) {
  const std::string p = "run.early_stopping.";
  k.push_back(obeyed(p + "patience", integer, 0, from_to(0, 1e9),
                     "validations without an improvement that end the run, with status 0 (Hugging "
                     "Face's early_stopping_patience); 0: none does")
                  .in("validations"));
  k.push_back(obeyed(p + "threshold", number, 0.0, at_least(0),
                     "an improvement is a validation loss below the lowest before it by more than "
                     "this (early_stopping_threshold)"));
}

void add_average(Keys& k) {
  k.push_back(obeyed("run.ema.decay", number, nullptr, from_below(0, 1),
                     "a running average of the weights: after a step it becomes decay x average + "
                     "(1 - decay) x weights. Unset: none is kept"));
  k.push_back(obeyed("run.ema.interval", integer, nullptr, from_to(1, 1e9),
                     "steps between updates of the average; unset: 1")
                  .in("steps"));
}

void add_outputs(Keys& k) {
  k.push_back(obeyed("run.trace_steps", numbers, nullptr, anything(),
                     "[first, end]: steps from first up to, but not including, end, counted from "
                     "0, whose instructions are timed on every rank and written to trace.json in "
                     "run.directory; at most 100 steps"));
  k.push_back(
      obeyed("run.tensorboard", boolean, false, anything(),
             "event files for TensorBoard in tensorboard in run.directory, with the numbers "
             "of metrics.jsonl and the job"));
  k.push_back(
      obeyed("run.openmetrics", path, nullptr, anything(),
             "file with the state of the run in OpenMetrics' text format, as node_exporter's "
             "textfile collector reads it (a name in .prom); replaced at most once a "
             "second")
          .or_empty());
}

void add_run(Keys& k) {
  k.push_back(obeyed("run.steps", integer, 100, at_least(1), "optimizer steps in all").in("steps"));
  k.push_back(obeyed("run.epochs", number, nullptr, above(0),
                     "epochs of data.train in all, instead of run.steps: the steps are counted at "
                     "the start of the run, and the last one is that in which the epochs end")
                  .in("epochs"));
  k.push_back(obeyed("run.seed", integer, 1234, at_least(0), "seed of fresh weights and dropout"));
  k.push_back(obeyed("run.directory", path, "runs/triax", anything(),
                     "directory of the run's files; relative to the working directory"));
  k.push_back(obeyed("run.eval_interval", integer, 0, at_least(0),
                     "steps between validations; a run also ends with one; 0: never")
                  .in("steps")
                  .or_fraction());
  k.push_back(obeyed("run.eval_steps", integer, 0, at_least(0),
                     "global batches per validation; 0: all of data.valid")
                  .in("steps"));
  k.push_back(obeyed("run.device", string, "auto", one_of({"auto", "cpu", "gpu"}),
                     "device that computes; auto: GPUs if triax is built for them and a rank finds "
                     "one (then every rank must), else the CPU"));
  k.push_back(obeyed("run.progress", string, "auto", one_of({"auto", "bar", "lines", "none"}),
                     "progress shown; auto: a bar on a terminal, else lines"));
  k.push_back(
      obeyed("run.peak_flops", number, 0.0, at_least(0), "one rank's peak, for mfu; 0: unknown")
          .in("FLOP/s"));
  k.push_back(obeyed("run.stop_before_end", duration, 0, from_to(0, 1e9),
                     "time before the job's end (Slurm's, or run.time_limit) at which the run "
                     "writes a checkpoint and exits with status 75: allow for one step and two "
                     "files, as one file may still be in progress; 0: never")
                  .in("s"));
  k.push_back(obeyed("run.time_limit", duration, 0, from_to(0, 1e9),
                     "time limit of the job, from the start of the program, if Slurm does not give "
                     "one; 0: none")
                  .in("s"));
  k.push_back(obeyed("run.max_bad_steps", integer, 3, from_to(0, 1e9),
                     "most steps in a row that are skipped because loss or gradient is not finite "
                     "(in fp16: the loss, or any overflow at a fixed fp16.loss_scale); one more "
                     "stops the run with the checkpoint from before them")
                  .in("steps"));
  add_loss_spike(k);
  add_early_stopping(k);
  add_average(k);
  k.push_back(
      obeyed("run.collective_timeout", duration, "10m", from_to(0.1, 1e9),
             "longest wait of a rank for the others (six times that while they work on files); "
             "then the job names the ranks that did not join and ends with status 3")
          .in("s"));
  add_outputs(k);
}

void add_checkpoint(Keys& k) {
  k.push_back(obeyed("checkpoint.directory", path, "auto", anything(),
                     "directory of the checkpoints; auto: checkpoints in run.directory"));
  k.push_back(obeyed("checkpoint.interval", integer, 0, at_least(0),
                     "steps between checkpoints; 0: at the end only")
                  .in("steps")
                  .or_fraction());
  k.push_back(obeyed("checkpoint.keep", integer, 3, from_to(0, 1e9),
                     "newest files kept, plus the newest one whose loss was within "
                     "run.loss_spike.factor; 0: all")
                  .in("files"));
  k.push_back(obeyed("checkpoint.keep_best", boolean, false, anything(),
                     "keep the file with the lowest validation loss, too, and write one where "
                     "checkpoint.interval does not; the export at the end is of that file (Hugging "
                     "Face's load_best_model_at_end with eval_loss)"));
  k.push_back(
      obeyed(
          "checkpoint.resume", path, "auto", anything(),
          "start of the run. auto: the newest file if there is one; never: no file; must: the "
          "newest file, else an error; or a file. A requeued job resumes from its own newest file")
          .or_words({"never", "must"}));
  k.push_back(obeyed("checkpoint.at_end", boolean, true, anything(),
                     "write a checkpoint after the last step, even if no interval ends there"));
  k.push_back(
      obeyed("checkpoint.async", boolean, "auto", anything(),
             "continue training while a checkpoint is written from a copy of the state in host "
             "memory; auto: with an interval, without state on NVMe, if the copy fits"));
  k.push_back(
      obeyed("checkpoint.collective", boolean, "auto", anything(),
             "some ranks write for the others, in long ranges of the file: for file systems that "
             "are slow when many ranks write short ranges; training waits meanwhile. auto: if it "
             "waits anyway and tensors are sharded by columns (parallel.tensor)"));
}

void add_checkpoint_files(Keys& k) {
  k.push_back(obeyed("checkpoint.files", integer, 1, from_to(1, 999),
                     "data files per checkpoint; 2 or more: part files beside a file that shows "
                     "them as one, for file systems that are slow on one shared file")
                  .in("files"));
  k.push_back(obeyed("checkpoint.striping_factor", integer, 0, from_to(0, 1e6),
                     "storage targets per file (a hint to MPI-IO, for Lustre and similar file "
                     "systems); 0: the directory's setting"));
  k.push_back(
      obeyed(
          "checkpoint.striping_unit", integer, 0, from_to(0, 1e12),
          "consecutive bytes on one storage target (a hint to MPI-IO); 0: the directory's setting")
          .in("bytes"));
  k.push_back(obeyed("checkpoint.alignment", integer, 4096, from_to(1, 1 << 30),
                     "tensors of 64 KiB or more start at a multiple of this in the file; set to "
                     "the striping unit, it keeps ranks off each other's stripes")
                  .in("bytes"));
  k.push_back(accepted("checkpoint.tag_validation", string, "Warn",
                       "one file holds the whole state: there are no tags"));
  k.push_back(accepted("checkpoint.load_universal", boolean, false, "any grid resumes any file"));
  k.push_back(accepted("checkpoint.use_node_local_storage", boolean, false,
                       "checkpoints are one shared file"));
  k.push_back(accepted("checkpoint.parallel_write.pipeline_stage", boolean, false,
                       "all ranks write together"));
  k.push_back(
      accepted("checkpoint.checkpoint_serialization", boolean, true, "checkpoints are HDF5"));
  k.push_back(accepted("checkpoint.writer", object, nullptr,
                       "checkpoints are written by triax's own writer"));
}

}  // namespace

Keys job_keys() {
  Keys k;
  add_data(k);
  add_conversations(k);
  add_parallel(k);
  add_run(k);
  add_checkpoint(k);
  add_checkpoint_files(k);
  k.push_back(
      obeyed("triax", object, nullptr, anything(),
             "facts in job.json about the run that wrote it (version, grid, hosts); not read"));
  return k;
}

}  // namespace triax
