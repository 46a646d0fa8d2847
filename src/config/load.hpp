#pragma once
// From a job file to a Config: read, extend, override, check, resolve.
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

struct LoadedJob {
  Config config;
  std::string resolved;  // JSON text of the job with every default filled in, for job.json
  std::vector<std::string>
      accepted;  // keys that are DeepSpeed's and have no meaning here, for one startup line
  std::vector<std::string> warnings;  // of keys that were read and have no effect, for the start
  std::vector<std::string> missing;   // of describe_job's kind; empty after load_job
};

/// Reads a job file for a job of `ranks` ranks. `overrides` are "KEY=VALUE" with dotted keys.
/// UsageError with every error of the job, a line each: path, line in which file, what is wrong,
/// nearest key.
LoadedJob load_job(const std::string& path, const std::vector<std::string>& overrides, int ranks);
/// The same of a job that is looked at and not run: files that are not there are no errors, but in
/// `missing`.
LoadedJob load_job_to_plan(const std::string& path, const std::vector<std::string>& overrides,
                           int ranks);

/// ModelConfig from a Hugging Face config.json text (`source` names it in errors). `warnings` gets
/// a line for each thing in it that has no effect.
ModelConfig model_from_huggingface(const std::string& json_text, const std::string& source,
                                   std::vector<std::string>* warnings = nullptr);
/// The config.json text that describes `model`, for exports and checkpoints: the inverse of the
/// above. `type`: of the weights beside it, f32, bf16 or f16.
std::string huggingface_config(const ModelConfig& model, DType type = DType::f32);

struct JobDescription {
  std::string text;                  // a table, or JSON
  std::vector<std::string> missing;  // a line for each file that a run would read and not find
};
/// `triax config JOB`: every key with its value and where it came from. UsageError as load_job, but
/// for files of data and checkpoints that are not there.
JobDescription describe_job(const std::string& path, const std::vector<std::string>& overrides,
                            int ranks, bool json);
/// `triax config --reference`: every key, type, unit, default, allowed values, meaning. As a table,
/// or JSON.
std::string key_reference(bool json);

/// The text of a resolved job with the paths of files and directories made absolute: it means the
/// same in every working directory.
std::string with_absolute_paths(const std::string& job);

}  // namespace triax
