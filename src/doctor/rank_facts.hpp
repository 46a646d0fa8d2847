// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts of `triax doctor` about one rank: program, cores, memory, GPUs, file systems, limits.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/doctor/directory_facts.hpp"

namespace triax::doctor {

struct RankFacts {
  int rank = 0;
  std::string host;
  std::string program;  // version, commit, compiler, libraries
  std::string isa;      // the best ISA level of this processor
  std::string binding;  // "2 of the node's 8 cores (hardware threads 0-1)"
  std::string omp;      // OMP_NUM_THREADS; empty: not set
  int cores = 1;        // cores that the ranks of the node may use together
  int node_ranks = 1;
  int allowed = 1;              // hardware threads that this rank may run on
  int hardware = 1;             // hardware threads of the node
  double memory = 0.0;          // bytes that the ranks of the node may hold together
  std::string memory_of;        // "this machine's memory", "the cgroup ..."
  double process_memory = 0.0;  // bytes that this process may hold; -1: no limit of its own
  std::string process_remedy;
  double shared_memory = 0.0;  // bytes free in /dev/shm; -1: it does not exist
  std::vector<std::string> gpus;
  bool gpu_code = false;           // this program has code for GPUs
  bool gpu_nodes = false;          // the system has device files of NVIDIA
  std::int64_t open_files = 0;     // limit (ulimit -n); -1: no limit
  std::int64_t locked_memory = 0;  // bytes (ulimit -l); -1: no limit
  double clock = 0.0;              // seconds since 1970, read right after a barrier
  std::vector<DirectoryFacts> directories;
};

/// Facts of this rank. Examines the existing ones of `directories`; reads the clock last.
/// Collective.
RankFacts rank_facts(ProcessGrid& grid, const std::vector<std::string>& directories);

void to_json(nlohmann::ordered_json& json, const RankFacts& facts);
void from_json(const nlohmann::ordered_json& json, RankFacts& facts);

/// Facts of all ranks, in rank order, on every rank. Collective.
std::vector<RankFacts> gather_facts(ProcessGrid& grid, const RankFacts& own);

}  // namespace triax::doctor
