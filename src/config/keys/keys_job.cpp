// Rows of data, parallel, run, checkpoint and lora: the sections that triax adds to ds_config.json.
#include "src/config/keys/key_table.hpp"
#include "src/schedule/schedules.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;

void add_data(Keys& k) {
  k.push_back(obeyed("data.train", paths, nullptr, anything(),
                     "training files: text or tokens, patterns allowed (*, ? and [...], each "
                     "within one level; \\ makes the next character literal; matches come in the "
                     "order of bytes: shard_10 before shard_2); relative to the working "
                     "directory, else to the job file"));
  k.push_back(obeyed("data.valid", paths, nullptr, anything(), "validation files, as data.train"));
  k.push_back(obeyed("data.seq_length", integer, "auto", from_to(1, 1e9),
                     "length T of a sample; auto: the model's positions, at most 1024")
                  .in("tokens"));
  k.push_back(obeyed("data.shuffle", boolean, true, anything(),
                     "a permutation of the samples per epoch; false: in file order"));
  k.push_back(obeyed("data.seed", integer, 1234, at_least(0), "seed of the permutation"));
  k.push_back(obeyed(
      "data.tokenizer", string, "bytes", anything(),
      "how text becomes tokens; bytes, the only one yet: a token a byte. With model.from, text "
      "needs it to be given"));
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
  k.push_back(obeyed("parallel.schedule", string, "1f1b", one_of(schedule_names()),
                     "order of the pipeline's work")
                  .without({"zero-bubble"}));
  k.push_back(obeyed("parallel.chunks", integer, 1, from_to(1, 1e6),
                     "model chunks a stage; more than 1: gpipe or interleaved"));
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
  k.push_back(obeyed(p + "factor", number, 3.0, above(1),
                     "the loss of a step is a spike above so many times the median of the losses "
                     "before it"));
  k.push_back(obeyed(p + "window", integer, 50, from_to(1, 1000),
                     "losses that the median is of: the last ones that were no spikes; no loss is "
                     "a spike before there have been so many")
                  .in("steps"));
  k.push_back(obeyed(
      p + "action", string, "warn", one_of({"warn", "stop", "rollback"}),
      "what the run does about one. warn: prints a line; stop: ends with status 3; rollback: "
      "goes back to the newest checkpoint from before it, and on with the samples after it"));
  k.push_back(obeyed(p + "max_rollbacks", integer, 3, from_to(1, 1000),
                     "rollbacks in a row, each at most a window of steps behind the spike before "
                     "it; one more spike there stops the run"));
}

void add_run(Keys& k) {
  k.push_back(obeyed("run.steps", integer, 100, at_least(1), "optimizer steps in all").in("steps"));
  k.push_back(obeyed("run.seed", integer, 1234, at_least(0), "seed of fresh weights and dropout"));
  k.push_back(obeyed("run.directory", path, "runs/triax", anything(),
                     "where the run leaves its files; relative to the working directory"));
  k.push_back(obeyed("run.eval_interval", integer, 0, at_least(0),
                     "validate each so many steps and at the end of a run; 0: never")
                  .in("steps"));
  k.push_back(obeyed("run.eval_steps", integer, 0, at_least(0),
                     "global batches a validation reads; 0: all of data.valid")
                  .in("steps"));
  k.push_back(obeyed("run.device", string, "auto", one_of({"auto", "cpu", "gpu"}),
                     "what computes; auto: GPUs where triax is built for them and a rank finds "
                     "one, and then each must, else the CPU"));
  k.push_back(obeyed("run.progress", string, "auto", one_of({"auto", "bar", "lines", "none"}),
                     "progress shown; auto: a bar on a terminal, else lines"));
  k.push_back(
      obeyed("run.peak_flops", number, 0.0, at_least(0), "one rank's peak, for mfu; 0: unknown")
          .in("FLOP/s"));
  k.push_back(obeyed("run.stop_before_end", duration, 0, from_to(0, 1e9),
                     "write a checkpoint and leave with status 75 so long before the job ends "
                     "(Slurm's end, or run.time_limit): time for a step and two files, for one may "
                     "still be being written; 0: do not look at the clock")
                  .in("s"));
  k.push_back(
      obeyed("run.time_limit", duration, 0, from_to(0, 1e9),
             "the job's time from the start of the program, as its walltime where Slurm does "
             "not say it; 0: none")
          .in("s"));
  k.push_back(
      obeyed("run.max_bad_steps", integer, 3, from_to(0, 1e9),
             "steps in a row that are skipped where loss or gradient is not finite (in fp16: "
             "the loss, or any overflow at a fixed fp16.loss_scale); one more stops the run with "
             "the checkpoint from before them")
          .in("steps"));
  add_loss_spike(k);
  k.push_back(
      obeyed("run.collective_timeout", duration, "10m", from_to(0.1, 1e9),
             "longest wait of a rank for others, six times as long while they work on files; "
             "then the job says who did not join and ends with status 3")
          .in("s"));
  k.push_back(refused("run.trace_steps", numbers, nullptr, "[first, end) steps to trace",
                      "traces are not built yet"));
  k.push_back(refused("run.tensorboard", boolean, false, "TensorBoard event files",
                      "TensorBoard files are not built yet; metrics.jsonl is always written"));
  k.push_back(refused("lora", object, nullptr, "low-rank adapters", "LoRA is not built yet"));
}

void add_checkpoint(Keys& k) {
  k.push_back(obeyed("checkpoint.directory", path, "auto", anything(),
                     "where checkpoints go; auto: checkpoints in run.directory"));
  k.push_back(obeyed("checkpoint.interval", integer, 0, at_least(0),
                     "write each so many steps; 0: at the end only")
                  .in("steps"));
  k.push_back(obeyed("checkpoint.keep", integer, 3, from_to(0, 1e9),
                     "newest files kept, and the newest whose loss was within reason; 0: all")
                  .in("files"));
  k.push_back(obeyed("checkpoint.resume", path, "auto", anything(),
                     "where the run begins. auto: from the newest file if any; never; must; or a "
                     "file. A batch job that is run again goes on from its own newest")
                  .or_words({"never", "must"}));
  k.push_back(obeyed("checkpoint.at_end", boolean, true, anything(),
                     "write one after the last step, also where no interval ends there"));
  k.push_back(obeyed("checkpoint.async", boolean, "auto", anything(),
                     "training goes on while a checkpoint is written, from a copy of the state in "
                     "host memory; auto: with an interval, without state on NVMe, where it fits"));
  k.push_back(obeyed("checkpoint.collective", boolean, "auto", anything(),
                     "ranks write together, some for the others, in long runs of the "
                     "file: for file systems that many ranks writing short runs are slow on; "
                     "training stands meanwhile. auto: where it stands anyway and tensors are cut "
                     "by columns (parallel.tensor)"));
  k.push_back(
      obeyed("checkpoint.files", integer, 1, from_to(1, 999),
             "files that the data lie in; 2 or more: parts beside a file that shows them as "
             "one, where one shared file is slow")
          .in("files"));
  k.push_back(obeyed("checkpoint.striping_factor", integer, 0, from_to(0, 1e6),
                     "storage targets a file is spread over (a hint to MPI-IO, for Lustre and its "
                     "like); 0: the directory's"));
  k.push_back(obeyed("checkpoint.striping_unit", integer, 0, from_to(0, 1e12),
                     "consecutive bytes on one storage target (a hint to MPI-IO); 0: the "
                     "directory's")
                  .in("bytes"));
  k.push_back(
      obeyed("checkpoint.alignment", integer, 4096, from_to(1, 1 << 30),
             "tensors of 64 KiB and more begin at a multiple of it in the file; the striping "
             "unit keeps ranks off each other's stripes")
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
  add_parallel(k);
  add_run(k);
  add_checkpoint(k);
  k.push_back(
      obeyed("triax", object, nullptr, anything(),
             "what job.json says of the run that wrote it (version, grid, hosts); not read"));
  return k;
}

}  // namespace triax
