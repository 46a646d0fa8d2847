// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs for tests, built from a golden case and a layout of ranks.
#include <mpi.h>

#include <nlohmann/json.hpp>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"
#include "src/plan/placement.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {

/// How a job is spread over ranks. None of it may change the losses (in 16 bits: except for
/// rounding).
struct Layout {
  int tensor = 1, pipeline = 1, data = 1;
  std::string schedule = "1f1b";
  int chunks = 1;
  int micro = 1;
  int zero = 0;
  bool sequence_parallel = true;
  int recompute = 0;  // layers per stage
  std::string granularity = "full";
  bool keep_outputs = false;
  bool partition = false;    // split the inputs of recomputed layers over the tensor-parallel ranks
  bool overlap = true;       // reduce and gather during compute
  int persistence = 0;       // ZeRO-3: tensors of at most this many elements stay whole
  std::string type = "f32";  // of parameters and activations: "f32", "bf16", "fp16" or "fp8" (bf16
                             // with fp8 products)

  int ranks() const { return tensor * pipeline * data; }
  /// Text for SCOPED_TRACE: "tensor 2 pipeline 2 data 1, 1f1b, micro 1".
  std::string text() const;
};

/// Whether the case's heads, layers and batch allow the layout. src/config refuses others
/// (tests/config).
bool carries(const GoldenCase& golden, const Layout& layout);

/// Job file of a golden case on a layout, on the CPU, without resuming and without checkpoints.
/// Tests change it, as in job["run"]["steps"] = 5.
nlohmann::json golden_job(const GoldenCase& golden, const Layout& layout);

/// Offloads the optimizer state, or the parameters, to files in `directory`, in many sub-groups,
/// and keeps nothing in memory.
void offload_optimizer(nlohmann::json& job, const std::string& directory);
void offload_parameters(nlohmann::json& job, const std::string& directory);

/// Sets every dropout of GPT-2.
void add_dropout(nlohmann::json& job);

/// Reads the job file as the program does, for `ranks` ranks.
LoadedJob load(const nlohmann::json& job, int ranks);

/// Configuration of a golden case on a layout, on hosts that share no memory.
PlacedConfig golden_config(const Layout& layout, const std::string& name = "gpt2-tiny");

/// Grid of a job over `world`. Their numbers of ranks agree.
ProcessGrid make_grid(MPI_Comm world, const Config& config);

/// Splits MPI_COMM_WORLD into groups of `ranks` consecutive ranks. `ranks` must divide its size.
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
