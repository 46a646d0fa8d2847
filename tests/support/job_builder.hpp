#pragma once
// Jobs for tests, made from a golden case and a place for every rank.
#include <mpi.h>

#include <nlohmann/json.hpp>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"
#include "src/plan/placement.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {

/// How a job is spread over ranks: everything that must not change its losses
/// (16 bits: but for rounding).
struct Layout {
  int tensor = 1, pipeline = 1, data = 1;
  std::string schedule = "1f1b";
  int chunks = 1;
  int micro = 1;
  int zero = 0;
  bool sequence_parallel = true;
  int recompute = 0;  // layers of a stage
  std::string granularity = "full";
  bool keep_outputs = false;
  bool partition = false;    // inputs of recomputed layers
  bool overlap = true;       // reduce and gather beside compute
  int persistence = 0;       // ZeRO 3: tensors of at most so many elements stay whole
  std::string type = "f32";  // of parameters and activations: or "bf16", "fp16"; "fp8": bf16 too

  int ranks() const { return tensor * pipeline * data; }
  /// "tensor 2 pipeline 2 data 1, 1f1b, micro 1": for SCOPED_TRACE.
  std::string text() const;
};

/// Whether a case's heads, layers and batch allow a layout (src/config refuses the rest, and says
/// so: tests/config).
bool carries(const GoldenCase& golden, const Layout& layout);

/// The job file of a golden case on a layout; it resumes nothing and writes no checkpoint. On the
/// CPU. Tests
/// change what they are about, as in job["run"]["steps"] = 5.
nlohmann::json golden_job(const GoldenCase& golden, const Layout& layout);

/// Puts a job's optimizer state, or its parameters, on a disk: files in `directory`, in many parts,
/// and nothing kept in memory.
void offload_optimizer(nlohmann::json& job, const std::string& directory);
void offload_parameters(nlohmann::json& job, const std::string& directory);

/// Dropout everywhere that a GPT-2 has it.
void add_dropout(nlohmann::json& job);

/// The job file, read as the program reads it, for so many ranks.
LoadedJob load(const nlohmann::json& job, int ranks);

/// A golden case on a layout, on hosts that share no memory.
PlacedConfig golden_config(const Layout& layout, const std::string& name = "gpt2-tiny");

/// The grid of a job over `world`, which has as many ranks.
ProcessGrid make_grid(MPI_Comm world, const Config& config);

/// The ranks of MPI_COMM_WORLD in groups of `ranks` neighbours, which divides their number.
class SubCommunicator {
 public:
  explicit SubCommunicator(int ranks);
  ~SubCommunicator();
  SubCommunicator(const SubCommunicator&) = delete;
  SubCommunicator& operator=(const SubCommunicator&) = delete;
  MPI_Comm mpi() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace triax::test
